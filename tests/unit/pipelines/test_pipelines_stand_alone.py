"""A pipeline's file can be taken out: it needs PySpark and the standard library, and nothing else."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

import headgate.pipelines

FOLDER = Path(headgate.pipelines.__file__).parent
FUNCTIONS = {
    "advertising": {"advertising"},
    "lake": {"lake"},
    "taxi": {"rides_per_hotspot", "taxi"},
    "traffic": {"speeding", "traffic"},
    "word_count": {"word_count"},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_pipeline_imports_pyspark_and_the_standard_library_only(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    foreign = {module.partition(".")[0] for module in imported} - set(sys.stdlib_module_names)
    assert foreign == {"pyspark"}


@pytest.mark.parametrize(("name", "functions"), FUNCTIONS.items())
def test_a_copy_elsewhere_has_the_same_functions(name: str, functions: set[str], tmp_path: Path) -> None:
    copy = shutil.copy(FOLDER / f"{name}.py", tmp_path / f"{name}_taken_out.py")
    spec = importlib.util.spec_from_file_location(copy.stem, copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = {key for key, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    assert {key for key in own if not key.startswith("_")} == functions
