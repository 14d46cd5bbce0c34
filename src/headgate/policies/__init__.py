"""Every policy by name: one explicit mapping, and what other packages add through entry points.

A policy is a frozen dataclass whose fields are its options; it sees an evaluation and the loop's
knowledge and nothing else, so the same input gives an equal proposal. Adding one is one file, one
test and one line here; a package of its own registers under the entry point group
``headgate.policies``.
"""

from __future__ import annotations

from importlib import metadata

from headgate.core.ports import Policy
from headgate.errors import UserMistake
from headgate.policies.daedalus import Daedalus
from headgate.policies.ds2 import Ds2
from headgate.policies.hpa import Hpa
from headgate.policies.phoebe import Phoebe
from headgate.policies.queueing_function import QueueingFunction
from headgate.policies.queueing_path import QueueingPath
from headgate.policies.static import Static
from headgate.policies.threshold_backlog import ThresholdBacklog
from headgate.policies.threshold_busy import ThresholdBusy

__all__ = [
    "ENTRY_POINT_GROUP",
    "POLICIES",
    "Daedalus",
    "Ds2",
    "Hpa",
    "Phoebe",
    "QueueingFunction",
    "QueueingPath",
    "Static",
    "ThresholdBacklog",
    "ThresholdBusy",
    "known_policies",
]

ENTRY_POINT_GROUP = "headgate.policies"

POLICIES: dict[str, type[Policy]] = {
    "daedalus": Daedalus,
    "ds2": Ds2,
    "hpa": Hpa,
    "phoebe": Phoebe,
    "queueing-function": QueueingFunction,
    "queueing-path": QueueingPath,
    "static": Static,
    "threshold-backlog": ThresholdBacklog,
    "threshold-busy": ThresholdBusy,
}

_REQUIRED = ("name", "scales", "needs", "period_s", "window_s", "decide")


def known_policies() -> dict[str, type[Policy]]:
    """The built-in policies and those that installed packages add, sorted by name."""
    known = dict(POLICIES)
    for entry in sorted(metadata.entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: (entry.name, entry.value)):
        if entry.name in known:
            raise UserMistake(
                f"policy '{entry.name}' of {entry.value} has a name that is already taken; rename it or uninstall it"
            )
        known[entry.name] = _load(entry)
    return dict(sorted(known.items()))


def _load(entry: metadata.EntryPoint) -> type[Policy]:
    where = f"policy '{entry.name}' of {entry.value}"
    try:
        loaded = entry.load()
    except Exception as error:  # a stranger's module may raise anything at import
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserMistake(f"{where} cannot be loaded ({problem}); repair or uninstall its package") from None
    if not isinstance(loaded, type):
        raise UserMistake(f"{where} is not a class; point the entry point at the policy's class")
    offered = {*dir(loaded), *getattr(loaded, "__dataclass_fields__", {})}
    missing = [member for member in _REQUIRED if member not in offered]
    if missing:
        raise UserMistake(f"{where} lacks {', '.join(missing)}; see docs/adding-a-policy.md for what a policy offers")
    if loaded.name != entry.name:  # type: ignore[attr-defined]
        raise UserMistake(f"{where} calls itself '{loaded.name}'; give both the same name")  # type: ignore[attr-defined]
    return loaded
