"""Ports on the loopback address for brokers: free ones chosen, asked-for ones checked."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection

from headgate.errors import Permanent, UserMistake

LOOPBACK = "127.0.0.1"
USUAL_PORT = 9092
# Below the range from which kernels give ports to clients: a client that keeps trying to reach a
# broker that is down can otherwise be given that very port, and the broker could not come back.
_CHOICE = range(20_000, 32_000)


def is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def choose_ports(count: int, *, taken: Collection[int] = ()) -> tuple[int, ...]:
    """Free ports, none of those that are spoken for."""
    chosen: list[int] = []
    # Where each start begins to look is left to chance, so that two that start together seldom meet.
    for port in random.SystemRandom().sample(_CHOICE, len(_CHOICE)):
        if len(chosen) == count:
            return tuple(chosen)
        if port not in taken and is_free(port):
            chosen.append(port)
    raise Permanent(f"there are no {count} free ports between {_CHOICE.start} and {_CHOICE.stop} on {LOOPBACK}")


def check_free(port: int) -> None:
    if not 1 <= port <= 65535:
        raise UserMistake(f"port {port} does not exist; give one from 1024 to 65535")
    if not is_free(port):
        raise UserMistake(
            f"port {port} on {LOOPBACK} cannot be used: another program listens there, or this user may not; "
            "stop that program, or choose another port with --port"
        )
