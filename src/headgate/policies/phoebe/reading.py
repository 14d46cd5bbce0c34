"""A profile from its file."""

from __future__ import annotations

from pathlib import Path

from headgate import codec
from headgate.core.profile import Profile
from headgate.errors import UserMistake


def read_profile(path: str) -> Profile:
    """What ``headgate profile`` has written there."""
    try:
        text = Path(path).read_bytes()
    except FileNotFoundError:
        raise UserMistake(f"profile {path} does not exist; make it with headgate profile -o {path}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise UserMistake(f"profile {path} cannot be read ({reason}); give the file of headgate profile") from None
    return codec.from_json(Profile, text, where=f"profile {path}")
