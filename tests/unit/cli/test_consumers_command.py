"""Mistakes about a consumer group are one sentence, before anything is started."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FILE = """
name = "g"
folder = "g"
[[topics]]
name = "rows"
[consumers]
reads = ["rows"]
"""


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('reads = ["rows"]', 'reads = ["row"]', ("topic 'row'", "did you mean 'rows'")),
        ('reads = ["rows"]', "reads = []", ("consumers.reads",)),
        ('reads = ["rows"]', 'reads = ["rows", "rows"]', ("twice",)),
        ('reads = ["rows"]', 'reads = ["rows"]\nalgorithm = "mbfx"', ("algorithm", "choose one of")),
        ('reads = ["rows"]', 'reads = ["rows"]\nalgorithm_capacity = 0', ("algorithm_capacity",)),
        ('reads = ["rows"]', 'reads = ["rows"]\nconsumer_capacity = 1', ("below algorithm_capacity",)),
        ('reads = ["rows"]', 'reads = ["rows"]\nestimator = "windo"', ("did you mean 'window'",)),
        ('reads = ["rows"]', 'reads = ["rows"]\nfunction = "nowhere:f"', ("no module 'nowhere'",)),
        ('reads = ["rows"]', 'reads = ["rows"]\nformat = "csv"', ("consumers.format",)),
        ('reads = ["rows"]', 'reads = ["rows"]\nkubernetes = {image = "i"}', ("runs on Kubernetes", "manifests")),
        ("[consumers]", "[stream]\nworkload = 'sine'\n[consumers]", ("[consumers] and stream",)),
    ],
)
def test_what_is_wrong_with_the_file_is_said(
    headgate: Callable[..., Any], tmp_path: Path, before: str, after: str, words: tuple[str, ...]
) -> None:
    file = tmp_path / "g.toml"
    assert before in FILE
    file.write_text(FILE.replace(before, after))
    answer = headgate("consumers", "up", "--app", file)
    assert answer.code == 2
    assert len(answer.err.strip().splitlines()) == 1
    for word in words:
        assert word in answer.err
    assert not (tmp_path / "g").exists()


def test_an_app_that_is_no_group_is_said_and_the_other_way_round(headgate: Callable[..., Any], tmp_path: Path) -> None:
    answer = headgate("consumers", "up", "--app", "word-count")
    assert (answer.code, "no [consumers] table" in answer.err) == (2, True)
    file = tmp_path / "g.toml"
    file.write_text(FILE)
    answer = headgate("run", file)
    assert (answer.code, "headgate consumers up" in answer.err) == (2, True)


def test_a_process_of_a_group_wants_to_know_where_kafka_is(headgate: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "g.toml"
    file.write_text(FILE)
    for words in (("monitor",), ("controller",), ("consumer", "1")):
        answer = headgate("consumers", *words, "--app", file)
        assert (answer.code, "--kafka HOST:PORT" in answer.err) == (2, True)


def test_manifests_are_one_document_with_the_file_in_it(headgate: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "g.toml"
    file.write_text(FILE)
    answer = headgate("consumers", "manifests", "--app", file, "--kafka", "kafka:9092")
    assert (answer.code, "[consumers.kubernetes]" in answer.err) == (2, True)
    file.write_text(FILE + '[consumers.kubernetes]\nimage = "headgate:1"\nnamespace = "lake"\n')
    document = json.loads(headgate("consumers", "manifests", "--app", file, "--kafka", "kafka:9092").out)
    kinds = [item["kind"] for item in document["items"]]
    assert kinds == ["ConfigMap", "ServiceAccount", "Role", "RoleBinding", "Deployment", "Deployment"]
    assert document["items"][0]["data"]["g.toml"] == file.read_text()
    assert {item["metadata"]["namespace"] for item in document["items"]} == {"lake"}
