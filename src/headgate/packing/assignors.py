"""How Kafka's own consumer groups give partitions to members: by their number, whatever is written to them.

The assignors of Kafka's clients, for the partitions of one topic: *range* gives each member a row of neighbours, *round
robin* one after the other, *cooperative sticky* leaves as many as possible where they are. All even out the number of
partitions, and none knows their speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Assignor = Callable[[Sequence[str], Sequence[int], Mapping[str, int]], dict[str, int]]
"""Given partitions, members and who has what: who shall have what."""


def range_assignor(partitions: Sequence[str], members: Sequence[int], current: Mapping[str, int]) -> dict[str, int]:  # noqa: ARG001 - as all are called
    """
    >>> range_assignor(["a", "b", "c", "d", "e"], [1, 2], {})
    {'a': 1, 'b': 1, 'c': 1, 'd': 2, 'e': 2}
    """
    each, more = divmod(len(partitions), len(members))
    found: dict[str, int] = {}
    place = 0
    for rank, member in enumerate(sorted(members)):
        count = each + (1 if rank < more else 0)
        found.update(dict.fromkeys(partitions[place : place + count], member))
        place += count
    return found


def round_robin_assignor(
    partitions: Sequence[str],
    members: Sequence[int],
    current: Mapping[str, int],  # noqa: ARG001 - as all are called
) -> dict[str, int]:
    """
    >>> round_robin_assignor(["a", "b", "c", "d", "e"], [1, 2], {})
    {'a': 1, 'b': 2, 'c': 1, 'd': 2, 'e': 1}
    """
    ordered = sorted(members)
    return {partition: ordered[place % len(ordered)] for place, partition in enumerate(partitions)}


def cooperative_sticky_assignor(
    partitions: Sequence[str], members: Sequence[int], current: Mapping[str, int]
) -> dict[str, int]:
    """
    >>> cooperative_sticky_assignor(["a", "b", "c", "d"], [1, 2], {"a": 1, "b": 1, "c": 1, "d": 1})
    {'a': 1, 'b': 1, 'c': 2, 'd': 2}
    """
    ordered = sorted(members)
    least, more = divmod(len(partitions), len(ordered))
    kept: dict[int, list[str]] = {member: [] for member in ordered}
    free: list[str] = []
    for partition in partitions:
        owner = current.get(partition)
        if owner in kept and len(kept[owner]) < least + (1 if more else 0):
            kept[owner].append(partition)
        else:
            free.append(partition)
    full = [member for member in ordered if len(kept[member]) > least]
    # More of them may have one above the least than there are to be shared.
    free.extend(kept[member].pop() for member in full[more:])
    for partition in free:
        owner = min(ordered, key=lambda member: (len(kept[member]), member))
        kept[owner].append(partition)
    owners = {partition: member for member, own in kept.items() for partition in own}
    return {partition: owners[partition] for partition in partitions}


ASSIGNORS: dict[str, Assignor] = {
    "range": range_assignor,
    "roundrobin": round_robin_assignor,
    "cooperative-sticky": cooperative_sticky_assignor,
}
EAGER = frozenset({"range", "roundrobin"})
"""Of these, all members stop reading for the time that a rebalance takes."""
