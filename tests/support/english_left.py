"""English words on a page that is meant to be in another language."""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path

from babel.messages.catalog import Catalog
from tests.support.catalogues import catalogue, forms

import fairwise.results

LOCALE = Path(fairwise.results.__file__).parent / "locale"
# Words that hardly an English sentence does without, and that German does not have.
COMMON = frozenset(
    re.findall(
        r"\w+",
        "always and are as at be because but by can cannot each for from has have how if into is it its least less "
        "many may missing more most no not of on one or other otherwise people rule rules said says share than that "
        "the their them there these they this to were what when where whether which who why with without wrong you "
        "your label",
    )
)
_UNSEEN = re.compile(r"<(script|style|code|pre)\b.*?</\1>|<!--.*?-->", re.DOTALL)
_SPOKEN = re.compile(r'(?:aria-label|title|alt|data-[a-z]+)="([^"]*)"')
_PLACE = re.compile(r"%\(\w+\)s|\{\w+(?::[^}]*)?\}|<[^>]*>")


def visible(page: str) -> str:
    """What is read on a page or heard of it: its text, and attributes that are read aloud; no code."""
    shown = _UNSEEN.sub(" ", page)
    return html.unescape(" ".join([re.sub(r"<[^>]+>", " | ", shown), *_SPOKEN.findall(shown)]))


def common_words(text: str) -> set[str]:
    """English words in a text, as whole words."""
    return {word for word in re.findall(r"(?<![\w-])[A-Za-z]+(?![\w-])", text) if word.lower() in COMMON}


def untranslated(text: str, code: str) -> set[str]:
    """Parts of our English texts that are in this text, although the catalogue has other words for them."""
    spaced = " ".join(text.split())
    return {part for part in _parts(code) if re.search(rf"(?<!\w){re.escape(part)}(?!\w)", spaced)}


@cache
def _parts(code: str) -> frozenset[str]:
    """What is between the places of our texts, of two words or more, and in no translation."""
    found: Catalog = catalogue(LOCALE, code)
    messages = [message for message in found if message.id]
    theirs = "\n".join(text for message in messages for text in forms(message.string))
    parts = {
        " ".join(part.split()).strip(" .:;,()“”")
        for message in messages
        for text in forms(message.id)
        for part in _PLACE.split(text)
    }
    return frozenset(part for part in parts if len(part) > 3 and part not in theirs)
