"""What users import: sorted, importable, and polite where PySpark is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import headgate
from headgate import policies

WITHOUT_PYSPARK = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Blocker())

import headgate
import headgate.cli
from headgate.errors import UserMistake

assert headgate.policies.Hpa(target=0.8).target == 0.8
for name in ("Scaler", "ServedAgent", "attach", "serve"):
    try:
        getattr(headgate, name)
    except UserMistake as mistake:
        print(mistake)
"""


@pytest.mark.parametrize("module", [headgate, policies], ids=lambda module: module.__name__)
def test_the_surface_is_sorted_and_importable(module: object) -> None:
    names = module.__all__  # type: ignore[attr-defined]
    # Constants, then classes, then functions, each by the alphabet: the order that ruff keeps.
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(module, name) is not None


def test_every_built_in_policy_is_exported_under_its_class() -> None:
    for policy in policies.POLICIES.values():
        assert policy.__name__ in policies.__all__
        assert getattr(policies, policy.__name__) is policy


def test_an_unknown_name_is_an_attribute_error_as_everywhere_in_python() -> None:
    with pytest.raises(AttributeError, match="atach"):
        headgate.atach  # noqa: B018


def test_without_pyspark_headgate_is_importable_and_attach_says_what_to_install() -> None:
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_PYSPARK], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    sentences = answer.stdout.splitlines()
    assert len(sentences) == 4
    for name, sentence in zip(("Scaler", "ServedAgent", "attach", "serve"), sentences, strict=True):
        assert sentence.startswith(f"headgate.{name} needs PySpark")
        assert "pip install 'headgate[spark]'" in sentence
