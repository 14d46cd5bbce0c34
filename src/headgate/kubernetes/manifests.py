"""What a consumer group is on Kubernetes, as plain values that an API server takes.

Source: the consumer-group autoscaler, section 4.4.7.2 and its templates: each consumer is a deployment of one replica
with a volume claim of its own, because only then can any of them be removed; its number is in its name. The controller
has a service account that may list, create and delete deployments, and make claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Manifest = dict[str, Any]

GROUP_LABEL = "headgate.dev/group"
NUMBER_LABEL = "headgate.dev/consumer"
_APP = "/etc/headgate"
_VOLUME = "/var/lib/headgate"
_LAKE = "/lake"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesGroup:
    """Where and from what a group's pods are made."""

    group: str
    image: str
    bootstrap: str
    namespace: str = "default"
    app_file: str = "app.toml"
    """Its key in the config map that has the name of the group."""
    lake_claim: str | None = None
    """A claim that many pods may write to, mounted as ``/lake``; without it the lake is elsewhere."""
    storage: str = "500Mi"
    storage_class: str | None = None
    memory: str = "1Gi"
    cpu: str = "500m"

    @property
    def controller(self) -> str:
        return f"{self.group}-controller"

    def consumer(self, number: int) -> str:
        """
        >>> KubernetesGroup(group="rows", image="i", bootstrap="kafka:9092").consumer(5)
        'rows-consumer-5'
        """
        return f"{self.group}-consumer-{number}"


def volume_claim(group: KubernetesGroup, number: int) -> Manifest:
    """What a consumer remembers; stays when the consumer is deleted, and is found again by the next of that number."""
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": group.storage}}}
    if group.storage_class is not None:
        spec["storageClassName"] = group.storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _named(group, f"{group.consumer(number)}-volume", number),
        "spec": spec,
    }


def consumer_deployment(group: KubernetesGroup, number: int) -> Manifest:
    name = group.consumer(number)
    command = ["headgate", "consumers", "consumer", str(number)]
    volume = {"name": "volume", "persistentVolumeClaim": {"claimName": f"{name}-volume"}}
    return _deployment(
        group,
        name,
        command,
        labels={**_labels(group), NUMBER_LABEL: str(number)},
        volumes=[volume],
        mounts=[{"name": "volume", "mountPath": _VOLUME}],
    )


def group_manifests(group: KubernetesGroup) -> list[Manifest]:
    """All but the consumers, which the controller creates: accounts and rights, monitor and controller."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _named(group, group.controller)}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": _named(group, group.controller),
        "rules": [
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create", "delete", "get", "list"]},
            {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["create", "get", "list"]},
        ],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": _named(group, group.controller),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": group.controller},
        "subjects": [{"kind": "ServiceAccount", "name": group.controller, "namespace": group.namespace}],
    }
    scratch = {"name": "volume", "emptyDir": {}}
    parts = [
        _deployment(
            group,
            f"{group.group}-{name}",
            ["headgate", "consumers", name],
            labels=_labels(group),
            volumes=[scratch],
            mounts=[{"name": "volume", "mountPath": _VOLUME}],
            account=group.controller if name == "controller" else None,
        )
        for name in ("monitor", "controller")
    ]
    return [account, role, binding, *parts]


def _deployment(
    group: KubernetesGroup,
    name: str,
    command: list[str],
    *,
    labels: dict[str, str],
    volumes: list[Manifest],
    mounts: list[Manifest],
    account: str | None = None,
) -> Manifest:
    own = {"headgate.dev/part": name}
    config = {"name": "app", "configMap": {"name": group.group}}
    lake = [] if group.lake_claim is None else [
        {"name": "lake", "persistentVolumeClaim": {"claimName": group.lake_claim}}
    ]  # fmt: skip
    where = ["--app", f"{_APP}/{group.app_file}", "--kafka", group.bootstrap, "--folder", _VOLUME, "--quiet"]
    container: Manifest = {
        "name": "headgate",
        "image": group.image,
        "command": [*command, *where],
        "resources": {
            "requests": {"memory": group.memory, "cpu": group.cpu},
            "limits": {"memory": group.memory},
        },
        "volumeMounts": [
            {"name": "app", "mountPath": _APP, "readOnly": True},
            *mounts,
            *([{"name": "lake", "mountPath": _LAKE}] if lake else []),
        ],
    }
    pod: Manifest = {
        "containers": [container],
        "volumes": [config, *volumes, *lake],
        # A cycle, and what it takes to commit it.
        "terminationGracePeriodSeconds": 60,
    }
    if account is not None:
        pod["serviceAccountName"] = account
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": group.namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            # A volume has one pod at a time.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": own},
            "template": {"metadata": {"labels": {**labels, **own}}, "spec": pod},
        },
    }


def _named(group: KubernetesGroup, name: str, number: int | None = None) -> Manifest:
    labels = _labels(group) if number is None else {**_labels(group), NUMBER_LABEL: str(number)}
    return {"name": name, "namespace": group.namespace, "labels": labels}


def _labels(group: KubernetesGroup) -> dict[str, str]:
    return {GROUP_LABEL: group.group, "app.kubernetes.io/managed-by": "headgate"}
