"""What every catalogue must hold: all that is said and nothing else, complete, with every placeholder and mark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from gettext import c2py
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po

KEYWORDS: Mapping[str, tuple[int, ...] | None] = {
    "_": None,
    "ngettext": (1, 2),
    "gettext": None,
    "say": None,
    "translate": None,
    "marked": None,
    "Message": None,
    "plural": (1, 2),
}
Text = str | tuple[str, ...]
_KEPT = re.compile(r"%\(\w+\)[\d.]*[sdf]|%%|\{\w+(?::[^}]*)?\}|<[^>]*>|\[FILL IN: |\]")
# How sentences end, also in scripts that have marks of their own.
_ENDS = {".": ".\u3002", ":": ":\uff1a", "?": "?\uff1f\u061f"}
_OWN_MARKS = ("ar", "ja", "zh")


def catalogue(locale: Path, code: str) -> Catalog:
    """One catalogue below a folder ``locale``."""
    with (locale / code / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, code, abort_invalid=True)


def said_in(places: Iterable[Path], locale: Path) -> set[Text]:
    """What ``pybabel extract`` finds in folders and Python files, as ``babel.cfg`` tells it."""
    with (locale / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file, "babel.cfg")  # type: ignore[no-untyped-call]
    found: set[Text] = set()
    for place in places:
        if place.is_dir():
            found |= {text for _, _, text, _, _ in extract_from_dir(place, methods, options, KEYWORDS) if text}
        else:
            found |= {text for _, text, _, _ in extract_from_file("python", place, keywords=KEYWORDS) if text}
    return found


def check(found: Catalog, said: set[Text]) -> None:
    """Everything that is checked of a catalogue whose texts are to be these."""
    code = str(found.locale)
    messages = [message for message in found if message.id]
    assert {_first(message.id) for message in messages} == {_first(text) for text in said}
    assert not found.obsolete
    assert (found.num_plurals, found.plural_expr) == tuple(get_plural(code)[:2])
    for message in messages:
        ours, theirs = forms(message.id), forms(message.string)
        assert theirs, message.id
        assert all(theirs), message.id
        assert not message.fuzzy, message.id
        assert len(theirs) == (found.num_plurals if message.pluralizable else 1), message.id
        if "%" not in _KEPT.sub("", ours[-1]):  # Babel takes "95 % of" for a placeholder
            assert not [str(error) for error in message.check(found)], message.id
        for text in theirs:
            _check_ends(text, ours[-1], code)
        _check_placeholders(message, found)


def forms(text: str | list[str] | tuple[str, ...] | None) -> list[str]:
    """A text, or all its plural forms."""
    return [text] if isinstance(text, str) else list(text or ())


def _first(text: str | list[str] | tuple[str, ...]) -> str:
    return forms(text)[0]


def _check_ends(theirs: str, ours: str, code: str) -> None:
    """Sentences end as ours do, and what is put before or after something keeps its space."""
    assert theirs[0].isspace() == ours[0].isspace(), ours
    assert theirs[-1].isspace() == ours[-1].isspace(), ours
    for mark, same in _ENDS.items():
        if ours.endswith(mark):
            assert theirs[-1] in same, ours
            assert theirs[-1] == mark or code in _OWN_MARKS, ours
        elif code not in _OWN_MARKS:
            assert not theirs.endswith(mark), ours


def _check_placeholders(message: Message, found: Catalog) -> None:
    """Only a form that is for one number alone, such as "two" in Arabic, may say that number in a word."""
    which = c2py(found.plural_expr)
    often = Counter(which(number) for number in range(1000))
    ours = forms(message.id)[-1]
    for number, text in enumerate(forms(message.string)):
        missing = Counter(_KEPT.findall(ours))
        missing.subtract(_KEPT.findall(text))
        wrong = [count for count in missing.values() if count]
        in_a_word = message.pluralizable and often[number] == 1 and wrong == [1]
        assert in_a_word or not wrong, message.id
        assert _KEPT.sub("", text).count("%") == _KEPT.sub("", ours).count("%"), message.id
