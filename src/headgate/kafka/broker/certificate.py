"""A certificate for brokers on this machine, made by the tool that comes with every Java."""

from __future__ import annotations

import subprocess
from pathlib import Path

from headgate.errors import Permanent
from headgate.java import JavaInstallation
from headgate.kafka.broker.ports import LOOPBACK

_MADE_WITHIN_S = 60.0
_DAYS = 3650


def make_certificate(java: JavaInstallation, *, keystore: Path, authority: Path, password: str) -> None:
    """A key with a certificate signed by itself into ``keystore``; the certificate for clients into ``authority``."""
    store = ["-keystore", str(keystore), "-storetype", "PKCS12", "-alias", "broker", "-storepass:env", "STOREPASS"]
    name = ["-dname", "CN=Headgate", "-ext", f"SAN=ip:{LOOPBACK}", "-ext", "bc=ca:true", "-validity", str(_DAYS)]
    _keytool(java, "-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", *name, *store, password=password)
    _keytool(java, "-exportcert", "-rfc", "-file", str(authority), *store, password=password)
    keystore.chmod(0o600)


def _keytool(java: JavaInstallation, *words: str, password: str) -> None:
    # The password is not for the list of processes.
    ran = subprocess.run(
        [str(java.home / "bin" / "keytool"), *words],
        env={"STOREPASS": password},
        capture_output=True,
        text=True,
        timeout=_MADE_WITHIN_S,
    )
    if ran.returncode:
        said = (ran.stdout + ran.stderr).strip().splitlines() or ["it said nothing"]
        raise Permanent(f"the certificate of a Kafka broker could not be made: {said[0]}")
