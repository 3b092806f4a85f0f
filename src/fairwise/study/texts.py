"""Texts of a study: the languages that participants may read, Markdown that is safe on a page, and drafts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from os import PathLike
from pathlib import Path
from textwrap import fill

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fairwise.errors import InputError
from fairwise.languages import SOURCE, Language, language_of, languages_of
from fairwise.messages import marked

__all__ = ["SOURCE", "Language", "available", "language", "marked"]


def available() -> tuple[str, ...]:
    """Codes of all languages that there are."""
    return languages_of("fairwise.study")


def language(code: str) -> Language:
    """Return one of the available languages."""
    return language_of("fairwise.study", code)


LONGEST = 100_000
_BLOCKS = {"h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "pre", "blockquote", "ul", "ol", "li"}
_TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
TAGS = frozenset({"em", "strong", "code", "a"} | _BLOCKS | _TABLE)
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}
_ADDRESS = re.compile(r"(https?://|mailto:)", re.IGNORECASE)
_BYTE_ORDER_MARK = "\ufeff"  # with which some editors begin
_TO_FILL_IN = re.compile(r"\[FILL IN:[^\[\]]*\]")  # with no "[" inside, each is looked at once


def safe_html(markdown: str) -> str:
    """Return Markdown as HTML; headings begin at ``h2``, since a page has one title of its own."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("image", _words_of_image)
    tokens = parser.parse(markdown.removeprefix(_BYTE_ORDER_MARK))
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
    return nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=set(TAGS),
        attributes=_ATTRIBUTES,
        attribute_filter=_only_whole_addresses,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    )


def _words_of_image(_renderer: object, tokens: Sequence[Token], index: int, _options: object, _env: object) -> str:
    """A picture would be fetched from somewhere; what it says in words stays."""
    return escape(tokens[index].content)


def _only_whole_addresses(_tag: str, attribute: str, value: str) -> str | None:
    return None if attribute == "href" and not _ADDRESS.match(value) else value


def read_text(path: str | PathLike[str]) -> str:
    """Return what a file of text says, to the byte, so that its hash can be made again; it may not be empty."""
    file = Path(path)
    try:
        text = file.read_bytes().decode()
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: not text in UTF-8") from None
    if "\0" in text:  # which PostgreSQL keeps in no text
        raise InputError(f"{file}: not text, as there is a zero byte in it")
    if not text.removeprefix(_BYTE_ORDER_MARK).strip():
        raise InputError(f"{file}: empty; participants must be told something here")
    if len(text) > LONGEST:
        raise InputError(f"{file}: {len(text):,} characters; allowed: {LONGEST:,}")
    return text


def left_to_fill_in(text: str) -> tuple[str, ...]:
    """Return the marks ``[FILL IN: …]`` that are still in a text."""
    return tuple(_TO_FILL_IN.findall(text))


# The title and the two texts of a new study, as drafts; catalogues have them, paragraph by paragraph.

TITLE_DRAFT = marked("Comparing people")
_CONSENT_DRAFT = (
    ("# ", marked("Before you begin")),
    ("", marked("[FILL IN: who is asking, of which institution, and what the study is for]")),
    ("", marked("You will be shown pairs of people and asked a question about each pair.")),
    ("## ", marked("What is kept")),
    ("- ", marked("Your answers, and what you write if you choose to write something.")),
    ("- ", marked("When you answered, and how long it took.")),
    (
        "- ",
        marked(
            "If a panel such as Prolific sent you, and chance puts people into groups: a code made from your ID there "
            "and your group, nothing else. If you begin again, you get the same group. The code stays if you withdraw. "
            "It is deleted when the study closes, or at once if you ask us to erase your data."
        ),
    ),
    ("", marked("Your name and your IP address are not kept.")),
    ("", marked("[FILL IN: who will see the answers, what they will be used for, and how long they will be kept]")),
    ("## ", marked("You decide")),
    (
        "",
        marked(
            "Taking part is your own choice. You can stop at any time, and you can withdraw at any time: everything "
            "you answered is then deleted. You need not say why, and nothing bad follows from it for you."
        ),
    ),
)
# The page itself goes on to explain the buttons, and how to stop and go on.
_TASK_DRAFT = (
    (
        "",
        marked(
            "You will see two people at a time, side by side, and a few facts about each of them. You will be asked "
            "one question about the two, and choose one of the answers. Take as much time as you like."
        ),
    ),
    ("", marked("[FILL IN: who these people are, and what is decided about them]")),
)


def consent_draft(language_of_text: Language) -> str:
    """Return the Markdown of a consent text to be filled in."""
    return _draft(_CONSENT_DRAFT, language_of_text)


def task_draft(language_of_text: Language) -> str:
    """Return the Markdown of a description of the task to be filled in."""
    return _draft(_TASK_DRAFT, language_of_text)


def _draft(paragraphs: Sequence[tuple[str, str]], language_of_text: Language) -> str:
    written = "\n\n".join(f"{mark}{fill(language_of_text.translate(text), 120)}" for mark, text in paragraphs)
    return written.replace("\n\n- ", "\n- ").replace("\n- ", "\n\n- ", 1) + "\n"
