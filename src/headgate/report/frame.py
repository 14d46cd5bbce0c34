"""What every page has: style, a policy that forbids it to call anywhere, a way to be written whole or not at all.

No network, no fonts, no library: style and script stand in the page, figures are SVG. A content security policy
in the page forbids everything else, so that opening a report never calls anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from headgate.errors import UserMistake
from headgate.report.wording import tight

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def framed(title: str, body: str, *, footer: str) -> str:
    """A page as text; title and footer are plain text, the body is HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>{_asset('page.css')}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>{body}"
        f"<footer>{escape(tight(footer))}</footer>"
        f"</main>\n<script>{_asset('page.js')}</script></body></html>\n"
    )


def write_page(text: str, path: Path) -> None:
    """A file that exists is replaced as a whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise UserMistake(f"the page cannot be written to '{path}' ({reason}); name a place you may write to") from None


def said(sentence: str) -> str:
    """The outcome, where it is seen first."""
    return f'<div class="verdict"><p>{escape(tight(sentence))}</p></div>'


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int | None = None) -> str:
    """A table of plain texts; the columns from ``numbers_from`` on are figures."""

    def kind(column: int) -> str:
        return ' class="number"' if numbers_from is not None and column >= numbers_from else ""

    titles = "".join(f'<th scope="col"{kind(place)}>{escape(name)}</th>' for place, name in enumerate(head))
    lines = "".join(
        f"<tr>{''.join(f'<td{kind(place)}>{escape(cell)}</td>' for place, cell in enumerate(row))}</tr>" for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table></div>'


def _asset(name: str) -> str:
    return files("headgate.report").joinpath("assets", name).read_text(encoding="utf-8")
