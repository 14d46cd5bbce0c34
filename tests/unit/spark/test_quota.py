"""CPU quotas, on folders that look like control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.spark.quota import GroupV1, GroupV2, Quotas, open_quotas, remove_groups


def test_version_1_writes_quota_and_period_and_lifts_with_minus_one(tmp_path: Path) -> None:
    group = GroupV1(tmp_path)
    group.limit(0.5)
    quota = int((tmp_path / "cpu.cfs_quota_us").read_text())
    assert quota / int((tmp_path / "cpu.cfs_period_us").read_text()) == pytest.approx(0.5)
    group.limit(None)
    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "-1"


def test_version_2_writes_both_in_one_line_and_lifts_with_max(tmp_path: Path) -> None:
    group = GroupV2(tmp_path)
    group.limit(0.25)
    quota, period = (tmp_path / "cpu.max").read_text().split()
    assert int(quota) / int(period) == pytest.approx(0.25)
    group.limit(None)
    assert (tmp_path / "cpu.max").read_text().startswith("max ")


@pytest.mark.parametrize("kind", [GroupV1, GroupV2])
def test_a_group_knows_its_processes(tmp_path: Path, kind: type[GroupV1] | type[GroupV2]) -> None:
    group = kind(tmp_path / "node")
    assert group.pids() == ()
    group.path.mkdir()
    group.add(42)
    assert group.pids() == (42,)


def test_a_machine_without_control_groups_gets_a_note_instead_of_quotas(tmp_path: Path) -> None:
    quotas = open_quotas("x", root=tmp_path, process=tmp_path / "nowhere")
    assert quotas.group("node-1") is None
    assert "no CPU quotas" in quotas.note
    quotas.remove()


def test_control_groups_that_cannot_limit_are_not_used_and_not_littered(tmp_path: Path) -> None:
    # A plain folder accepts every write but holds no process, as a hierarchy without rights would not.
    (tmp_path / "cgroup.controllers").write_text("cpu")
    (tmp_path / "own").mkdir()
    for folder in (tmp_path, tmp_path / "own"):
        (folder / "cgroup.subtree_control").write_text("cpu")
    process = tmp_path / "process"
    process.write_text("0::/own\n")
    quotas = open_quotas("cluster", root=tmp_path, process=process)
    assert quotas.parent is None
    assert "version 2" in quotas.note
    assert not (tmp_path / "own" / "cluster" / "trial").exists()


def test_removing_takes_the_nodes_groups_along(tmp_path: Path) -> None:
    quotas = Quotas(parent=tmp_path / "cluster", version=1, note="")
    (tmp_path / "cluster").mkdir()
    quotas.group("node-1")
    quotas.group("node-2")
    quotas.remove()
    assert list(tmp_path.iterdir()) == []
    remove_groups(tmp_path / "cluster")
