"""HTML for notebooks: sections of words and numbers in one style, everything escaped, no script and no address.

Words take the colour of the page around them, lines are a part of that colour, and the two accents are as far from
white as from black: so it is readable in the light and in the dark, also where nobody says which of the two it is. In
Jupyter the accents are those of its theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
.fairwise { --line: color-mix(in srgb, currentColor 22%, transparent); --accent: var(--jp-brand-color1, #2f7fc9);
  --warn: var(--jp-warn-color1, #c2621b); max-width: 44rem; margin: .4rem 0; font-size: .875rem; line-height: 1.45; }
.fairwise section { margin: 0 0 .8rem; padding-left: .8rem; border-left: 3px solid var(--accent); }
.fairwise section.open { border-left-color: var(--warn); }
.fairwise h4 { margin: 0 0 .3rem; font-size: 1em; font-weight: 650; }
.fairwise p, .fairwise ul { margin: .3rem 0; padding-inline-end: 0; }
.fairwise ul { padding-left: 1.2rem; list-style: disc; }
.fairwise p.notice { padding: .25rem .6rem; border: 1px solid var(--warn); border-radius: 3px; }
.fairwise table { width: auto; margin: .3rem 0; border: 0; border-collapse: collapse; font-size: 1em;
  font-variant-numeric: tabular-nums; }
.fairwise table :is(th, td) { padding: .18rem 1.2rem .18rem 0; border: 0; border-bottom: 1px solid var(--line);
  background: none; color: inherit; font-weight: 400; text-align: left; vertical-align: top; white-space: normal;
  max-width: none; }
.fairwise table tbody tr:nth-child(n) { background: none; }
.fairwise table tbody th { min-width: 9.5rem; }
.fairwise table thead th { font-size: .92em; opacity: .75; }
.fairwise table .number { text-align: right; white-space: nowrap; }
""".strip()


def page(*sections: str) -> str:
    """Sections with their style, as ``_repr_html_`` returns them."""
    return f'<div class="fairwise"><style>{_STYLE}</style>{"".join(sections)}</div>'


def section(title: str, *parts: str, warn: bool = False) -> str:
    """A heading above parts that the functions below made; ``warn`` where something is left open."""
    tag = '<section class="open">' if warn else "<section>"
    return f"{tag}<h4>{escape(title)}</h4>{''.join(parts)}</section>"


def paragraph(words: str) -> str:
    """A sentence or two."""
    return f"<p>{escape(words)}</p>"


def notice(words: str) -> str:
    """What must not be overlooked."""
    return f'<p class="notice">{escape(words)}</p>'


def bullets(sentences: Iterable[str]) -> str:
    """Sentences below each other; nothing where there are none."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), numbers: Sequence[int] = (1,)) -> str:
    """A line for each row, its first cell a heading; the columns at the positions ``numbers`` are right-aligned."""
    body = "".join(f"<tr>{_cells(row, numbers, heads=1)}</tr>" for row in rows)
    top = f"<thead><tr>{_cells(head, numbers, heads=len(head))}</tr></thead>" if head else ""
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _cells(row: Sequence[str], numbers: Sequence[int], heads: int) -> str:
    cells = []
    for place, cell in enumerate(row):
        tag, side = "th" if place < heads else "td", ' class="number"' if place in numbers else ""
        cells.append(f"<{tag}{side}>{escape(cell)}</{tag}>")
    return "".join(cells)
