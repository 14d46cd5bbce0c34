"""Consumers as deployments, over HTTP with a server that keeps what it is given and answers as an API server does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from lightkube import Client
from lightkube.config import models
from lightkube.config.kubeconfig import KubeConfig

from headgate.errors import Temporary, UserMistake
from headgate.kubernetes.fleet import KubernetesFleet
from headgate.kubernetes.manifests import KubernetesGroup, consumer_deployment, group_manifests, volume_claim

GROUP = KubernetesGroup(group="rows", image="headgate:1", bootstrap="kafka:9092", namespace="lake", lake_claim="lake")


@dataclass
class Cluster:
    """Objects by kind and name."""

    kept: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    forbidden: bool = False

    def pods_end(self) -> None:
        """What was deleted in the foreground is gone once its pods are."""
        for key in [key for key, each in self.kept.items() if "deletionTimestamp" in each["metadata"]]:
            del self.kept[key]


def client_of(port: int) -> Client:
    place = models.Cluster(server=f"http://127.0.0.1:{port}")
    config = KubeConfig.from_one(cluster=place, user=models.User(token="t"), context_name="test")
    return Client(config, namespace="lake", trust_env=False)


@pytest.fixture
def cluster() -> Iterator[tuple[Cluster, KubernetesFleet]]:
    known = Cluster()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def answer(self, code: int, document: dict[str, Any]) -> None:
            body = json.dumps(document).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def refuse(self, code: int) -> None:
            self.answer(
                code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "no"}
            )

        def parts(self) -> tuple[str, str | None]:
            words = urlparse(self.path).path.strip("/").split("/")
            place = words.index("namespaces")
            assert words[place + 1] == "lake"
            return words[place + 2], words[place + 3] if len(words) > place + 3 else None

        def do_GET(self) -> None:
            kind, _ = self.parts()
            if known.forbidden:
                return self.refuse(403)
            wanted = parse_qs(urlparse(self.path).query)["labelSelector"][0].split("=")
            items = [
                each
                for (one, _), each in known.kept.items()
                if one == kind and each["metadata"]["labels"].get(wanted[0]) == wanted[1]
            ]
            return self.answer(200, {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items})

        def do_POST(self) -> None:
            kind, _ = self.parts()
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = (kind, given["metadata"]["name"])
            if key in known.kept:
                return self.refuse(409)
            known.kept[key] = given
            return self.answer(201, given)

        def do_DELETE(self) -> None:
            kind, name = self.parts()
            assert name is not None
            if (kind, name) not in known.kept:
                return self.refuse(404)
            assert parse_qs(urlparse(self.path).query)["propagationPolicy"] == ["Foreground"]
            known.kept[kind, name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            return self.answer(200, known.kept[kind, name])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield known, KubernetesFleet(GROUP, client_of(server.server_address[1]))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_consumer_is_a_deployment_with_a_volume_that_outlives_it(cluster: tuple[Cluster, KubernetesFleet]) -> None:
    known, fleet = cluster
    assert fleet.members() == frozenset()
    fleet.create(5)
    fleet.create(5)
    assert set(known.kept) == {
        ("deployments", "rows-consumer-5"),
        ("persistentvolumeclaims", "rows-consumer-5-volume"),
    }
    assert fleet.members() == fleet.live() == {5}
    fleet.delete(5)
    fleet.delete(7)
    assert (fleet.members(), fleet.live()) == (frozenset(), {5})
    with pytest.raises(Temporary, match="has not ended yet"):
        fleet.create(5)
    known.pods_end()
    assert fleet.live() == frozenset()
    fleet.create(5)
    assert fleet.members() == {5}


def test_what_is_not_a_consumer_of_the_group_is_none(cluster: tuple[Cluster, KubernetesFleet]) -> None:
    known, fleet = cluster
    for manifest in group_manifests(GROUP):
        known.kept[manifest["kind"].lower() + "s", manifest["metadata"]["name"]] = manifest
    assert fleet.live() == frozenset()


def test_a_right_that_is_missing_is_said_with_the_remedy(cluster: tuple[Cluster, KubernetesFleet]) -> None:
    known, fleet = cluster
    known.forbidden = True
    with pytest.raises(UserMistake, match=r"namespace 'lake'.*headgate consumers manifests"):
        fleet.members()


def test_a_server_that_is_gone_is_waited_for() -> None:
    fleet = KubernetesFleet(GROUP, client_of(9))
    with pytest.raises(Temporary, match="trying again"):
        fleet.members()


def test_manifests_are_as_a_consumer_needs_them() -> None:
    deployment, claim = consumer_deployment(GROUP, 5), volume_claim(GROUP, 5)
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["command"][:4] == ["headgate", "consumers", "consumer", "5"]
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    mounted = {volume["name"] for volume in spec["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == mounted == {"app", "volume", "lake"}
    claims = [each.get("persistentVolumeClaim", {}).get("claimName") for each in spec["volumes"]]
    assert claim["metadata"]["name"] in claims
    selector = deployment["spec"]["selector"]["matchLabels"]
    assert selector.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    other = consumer_deployment(GROUP, 6)["spec"]["selector"]["matchLabels"]
    assert selector != other


def test_the_controller_may_do_what_it_does_and_no_more() -> None:
    kinds = {manifest["kind"]: manifest for manifest in group_manifests(GROUP)}
    rules = {(rule["apiGroups"][0], rule["resources"][0]): set(rule["verbs"]) for rule in kinds["Role"]["rules"]}
    assert rules == {
        ("apps", "deployments"): {"create", "delete", "get", "list"},
        ("", "persistentvolumeclaims"): {"create", "get", "list"},
    }
    accounts = {
        manifest["metadata"]["name"]: manifest["spec"]["template"]["spec"].get("serviceAccountName")
        for manifest in group_manifests(GROUP)
        if manifest["kind"] == "Deployment"
    }
    assert accounts == {"rows-monitor": None, "rows-controller": "rows-controller"}
