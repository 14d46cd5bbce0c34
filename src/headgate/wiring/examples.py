"""The example apps that come with Headgate, by their names."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from headgate.config import AppFile, load_app
from headgate.errors import UserMistake, nearest


def example_app(name: str) -> Path:
    """The app file of an example: in an installed package, or in the repository that this is run from."""
    known = {path.stem: path for folder in _folders() for path in sorted(folder.glob("*.toml"))}
    if name not in known:
        raise UserMistake(f"there is no example '{name}'{nearest(name, known)}")
    return known[name]


def named_app(given: Path) -> AppFile:
    """The app of a file, or of an example if it is a bare name; an example's folder is then below ``out`` here."""
    if given.exists() or given.suffix or len(given.parts) != 1:
        return load_app(given)
    app = load_app(example_app(given.name))
    return app.model_copy(update={"folder": Path.cwd() / "out" / given.name})


def _folders() -> list[Path]:
    package = Path(str(files("headgate")))
    # In the repository the package lies in src, beside which the examples are.
    return [folder for folder in (package.parents[1] / "examples", package / "examples") if folder.is_dir()]
