"""The app file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.config import AppFile, load_app, parse_app, upstream_first
from headgate.errors import UserMistake

TABLES = ["cluster", "stream", "controller", "kafka", "topics", "operators", "producers", "sink", "x"]
WORDS = ["name", "folder", "workload", "peak", "executors", "policy", "quota", "reads", "writes", "function", "topic"]
KEYS = st.sampled_from([*TABLES, *WORDS, "records"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)

CHAIN = """
name = "chain"

[[topics]]
name = "lines"
partitions = 2
[[topics]]
name = "words"

[[operators]]
name = "count"
function = "m:count"
reads = ["words"]
scalable = false
sink = { format = "delta" }

[[operators]]
name = "split"
function = "m:split"
reads = ["lines"]
writes = "words"

[[producers]]
topic = "lines"
records = "words"
workload = "constant:rate=10"
duration_s = "1m"
"""

READS_STREAM = """
name = "x"
[stream]
workload = "sine"
records = "words"
[[operators]]
name = "a"
function = "m:f"
reads = ["stream"]
sink = {}
"""


def refusal(text: str) -> str:
    with pytest.raises(UserMistake) as caught:
        parse_app(text, where="app.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_small_file_takes_the_defaults() -> None:
    app = parse_app('name = "orders"\n[stream]\nworkload = "sine"\nduration_s = "5m"', where="app.toml")
    assert app.stream is not None
    assert app.stream.duration_s == 300
    assert app.controller.policy == "hpa"
    assert app.controller.bounds.most == 4
    assert not app.uses_kafka


def test_a_chain_of_operators_is_read_with_its_topics_and_producers() -> None:
    app = parse_app(CHAIN, where="app.toml")
    assert app.uses_kafka
    assert app.kafka.is_local
    assert [operator.name for operator in upstream_first(app.operators)] == ["split", "count"]
    assert {topic.name: topic.partitions for topic in app.all_topics} == {"lines": 2, "words": 4}
    assert app.producers[0].duration_s == 60
    count = app.operators[0]
    assert count.sink is not None
    assert count.sink.needs_delta
    assert count.sink.path == "{folder}/sink"


def test_a_topic_that_a_producer_fills_need_not_be_listed() -> None:
    app = parse_app(CHAIN.replace('[[topics]]\nname = "lines"\npartitions = 2\n', ""), where="app.toml")
    assert {topic.name for topic in app.all_topics} == {"lines", "words"}


def test_operators_may_read_the_embedded_stream_without_a_broker() -> None:
    assert not parse_app(READS_STREAM, where="app.toml").uses_kafka


def test_an_app_can_be_shortened() -> None:
    assert parse_app(CHAIN, where="app.toml").shortened(5.0).producers[0].duration_s == 5
    short = parse_app('name = "x"\n[stream]\nworkload = "sine"', where="app.toml").shortened(5.0)
    assert short.stream is not None
    assert short.stream.duration_s == 5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('reads = ["lines"]', 'reads = ["linse"]', ("topic 'linse'", "did you mean 'lines'")),
        ('writes = "words"', 'writes = "word"', ("topic 'word'", "did you mean 'words'")),
        ('writes = "words"', "", ("operators.split", "either writes (a topic) or a sink")),
        ('writes = "words"', 'writes = "words"\nsink = {}', ("operators.split", "not both")),
        ('writes = "words"', 'writes = "lines"', ("'lines' is filled by two",)),
        ('reads = ["lines"]', 'reads = ["words"]', ("split", "circle")),
        ('name = "split"', 'name = "count"', ("two of the operators are named 'count'",)),
        ('name = "words"', 'name = "lines"', ("two of the topics are named 'lines'",)),
        ('topic = "lines"', 'topic = "other"', ("nobody reads topic 'other'",)),
        ('function = "m:split"', 'function = "split"', ("operators.split", "module:function")),
        ("scalable = false", 'deduplicate = ["word"]', ("operators.count", "scalable = false")),
        ("scalable = false", 'output_mode = "update"', ("operators.count", "scalable = false")),
        ('writes = "words"', 'writes = "words"\nscalable = false\noutput_mode = "update"', ("append mode only",)),
        ("scalable = false", "scalable = false\nparallelism = 2", ("operators.count", "remove parallelism")),
        ("scalable = false", "watermark_s = 5", ("operators.count", "deduplicate")),
        ('format = "delta"', 'format = "delta", by = "x"', ("operators.count.sink", 'by is for format = "tables"')),
        ('name = "split"', 'name = ".."', ("operators..",)),
        ("scalable = false", "parallelism = 9", ("operators.count", "max_parallelism is 8")),
        ("scalable = false", "paralelism = 9", ("operators.count.paralelism", "did you mean 'parallelism'")),
        ('name = "split"', "", ("operators.2.name is missing",)),
        ('format = "delta"', 'format = "csv"', ("operators.count.sink.format",)),
        ('format = "delta"', 'frmat = "delta"', ("operators.count.sink.frmat", "did you mean 'format'")),
        ('reads = ["lines"]', 'reads = ["stream"]', ("split", "no [stream] table")),
        ('reads = ["lines"]', 'reads = ["stream", "lines"]', ("the one or the others",)),
        ('reads = ["lines"]', 'reads = ["lines", "lines"]', ("twice",)),
        ('reads = ["lines"]', "reads = []", ("operators.split.reads",)),
        ('duration_s = "1m"', 'duration_s = "soon"', ("producers.1.duration_s", "not a duration")),
        ('writes = "words"', "sink = { }\n", ("two sinks have the path",)),
        ('name = "chain"', 'name = "chain"\n[stream]\nworkload = "sine"', ("no operator reads the [stream]",)),
        ('name = "chain"', 'name = "chain"\n[pipeline]\nfile = "x.py"', ("[[operators]] and [pipeline]",)),
        ('name = "chain"', 'name = "chain"\n[controller]\nexecutors = [1, 9]', ("cluster.nodes",)),
        ('name = "chain"', 'name = "chain"\n[kafka]\nconfig = "x"', ("kafka: config is for a cluster", "bootstrap")),
        ('name = "lines"', 'name = "two lines"', ("topics.two lines.name",)),
    ],
)
def test_what_does_not_fit_together_is_one_sentence_with_its_key(old: str, new: str, words: tuple[str, ...]) -> None:
    assert old in CHAIN
    sentence = refusal(CHAIN.replace(old, new))
    for word in words:
        assert word in sentence


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('name = "x"', ("[stream]", "[pipeline]", "[[operators]]")),
        ('name = "x"\n[stream]\nworkload = "sine"\n[[topics]]\nname = "t"', ("[[topics]] need [[operators]]",)),
        ('name = "x"\n[stream]\nworkload = "sine"\nrecords = "words"', ("stream.records is for [[operators]]",)),
        (
            READS_STREAM.replace('records = "words"', ""),
            ("stream.records is missing",),
        ),
        ('name = "x"\noperators = 3', ("operators",)),
        ('name = "x"\n[[operators]]\nname = 3', ("operators.1.",)),
    ],
)
def test_an_app_is_one_of_stream_pipeline_and_operators(text: str, words: tuple[str, ...]) -> None:
    sentence = refusal(text)
    for word in words:
        assert word in sentence


def test_paths_of_an_operators_file_and_of_client_settings_are_relative_to_the_app_file(tmp_path: Path) -> None:
    text = CHAIN.replace('function = "m:split"', 'function = "split"\nfile = "steps.py"')
    path = tmp_path / "app.toml"
    path.write_text(text + '[kafka]\nbootstrap = "there:9092"\nconfig = "client.properties"')
    with pytest.raises(UserMistake, match=r"file of operator 'split', .*steps.py does not exist"):
        load_app(path)
    (tmp_path / "steps.py").write_text("")
    app = load_app(path)
    assert app.operators[1].file == tmp_path / "steps.py"
    assert app.kafka.config == tmp_path / "client.properties"


def test_the_schema_describes_every_table() -> None:
    text = json.dumps(AppFile.model_json_schema())
    for key in ("bootstrap", "partitions", "max_parallelism", "records_per_trigger", "partition_skew", "watermark_s"):
        assert f'"{key}"' in text


@given(st.text())
def test_any_text_is_an_app_or_a_users_mistake(text: str) -> None:
    try:
        parse_app(text, where="app.toml")
    except UserMistake as mistake:
        assert len(str(mistake).splitlines()) >= 1


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_any_table_is_an_app_or_a_users_mistake(data: dict[str, object]) -> None:
    import tomli_w

    def without_none(value: object) -> object:
        if isinstance(value, dict):
            return {key: without_none(each) for key, each in value.items() if each is not None}
        if isinstance(value, list):
            return [without_none(each) for each in value if each is not None]
        return value

    try:
        text = tomli_w.dumps(without_none(data))  # type: ignore[arg-type]
    except ValueError:
        return
    try:
        parse_app(text, where="app.toml")
    except UserMistake:
        pass


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 101])
def test_names_that_could_be_paths_are_refused(name: str) -> None:
    with pytest.raises(UserMistake, match="name"):
        parse_app(f'name = "{name}"\n[stream]\nworkload = "sine"', where="app.toml")
