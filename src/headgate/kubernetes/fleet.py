"""Consumers as deployments: the port ``consumers.fleet.Fleet`` on an API server.

What is there is asked each time, so a controller that was started anew finds the consumers of the one before it. A
deployment that is being deleted stays listed until its pod is gone, because it is deleted in the foreground.
"""

from __future__ import annotations

from typing import Any

from lightkube import ApiError, Client
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import PersistentVolumeClaim
from lightkube.types import CascadeType

from headgate.errors import HeadgateError, Temporary, UserMistake
from headgate.kubernetes.manifests import (
    GROUP_LABEL,
    NUMBER_LABEL,
    KubernetesGroup,
    consumer_deployment,
    volume_claim,
)

_EXISTS, _NOT_FOUND = 409, 404
_NOT_ALLOWED = (401, 403)


class KubernetesFleet:
    """May be called from one thread."""

    def __init__(self, group: KubernetesGroup, client: Client | None = None) -> None:
        self._group = group
        self._client = client or Client(namespace=group.namespace)

    def members(self) -> frozenset[int]:
        return frozenset(number for number, leaving in self._listed().items() if not leaving)

    def live(self) -> frozenset[int]:
        return frozenset(self._listed())

    def create(self, number: int) -> None:
        there = self._listed()
        if there.get(number):
            raise Temporary(f"consumer {number} has not ended yet; it is created when it has")
        if number in there:
            return
        self._create(PersistentVolumeClaim, volume_claim(self._group, number))
        self._create(Deployment, consumer_deployment(self._group, number))

    def delete(self, number: int) -> None:
        try:
            self._client.delete(
                Deployment,
                self._group.consumer(number),
                namespace=self._group.namespace,
                cascade=CascadeType.FOREGROUND,
            )
        except ApiError as error:
            if _code(error) != _NOT_FOUND:
                raise self._fault(error, f"deleting consumer {number}") from None
        except Exception as error:
            raise self._fault(error, f"deleting consumer {number}") from None

    def supervise(self) -> None:
        """Kubernetes does that."""

    def _listed(self) -> dict[int, bool]:
        """Whether each consumer that is there is on its way out."""
        try:
            found = self._client.list(
                Deployment, namespace=self._group.namespace, labels={GROUP_LABEL: self._group.group}
            )
            listed: dict[int, bool] = {}
            for deployment in found:
                metadata = deployment.metadata
                number = (metadata.labels or {}).get(NUMBER_LABEL) if metadata is not None else None
                if metadata is not None and number is not None and number.isdigit():
                    listed[int(number)] = metadata.deletionTimestamp is not None
            return listed
        except Exception as error:
            raise self._fault(error, "listing consumers") from None

    def _create(self, kind: Any, manifest: dict[str, Any]) -> None:
        name = manifest["metadata"]["name"]
        try:
            self._client.create(kind.from_dict(manifest), namespace=self._group.namespace)
        except ApiError as error:
            # The volume of an earlier consumer with that number, or one that another controller has made.
            if _code(error) != _EXISTS:
                raise self._fault(error, f"creating {name}") from None
        except Exception as error:
            raise self._fault(error, f"creating {name}") from None

    def _fault(self, error: Exception, doing: str) -> HeadgateError:
        if isinstance(error, ApiError) and _code(error) in _NOT_ALLOWED:
            return UserMistake(
                f"Kubernetes does not allow {doing} in namespace '{self._group.namespace}' ({_code(error)}); give the "
                "controller's account the rights in `headgate consumers manifests`"
            )
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return Temporary(f"Kubernetes does not answer as expected while {doing} ({reason}); trying again")


def _code(error: ApiError) -> int | None:
    return error.status.code
