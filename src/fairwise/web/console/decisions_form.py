"""What is decided, as an operator says it while a study is made: suggested from the outcomes found, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairwise.errors import InputError
from fairwise.study.decisions import MOST_DECISIONS, Amount, Decision
from fairwise.study.languages import marked
from fairwise.study.new_study import readable
from fairwise.study.toml import Plain
from fairwise.web.console.uploads import ColumnLook
from fairwise.web.shared.forms import Form, decimal_number

KINDS: Mapping[str, str] = {
    "yes-no": marked("One of two things, such as released or not"),
    "tiers": marked("One of several things, each better or worse for the person"),
    "amount": marked("An amount, such as how much is lent"),
}
ROWS = range(MOST_DECISIONS)
_PARTS = tuple(Decision.model_fields)
_ENDS = ("least", "most")
_LONGEST = 500


def first_decided() -> dict[str, str]:
    """What the form says before anything is chosen."""
    return {"kind": "yes-no", "amount-unit": "", "amount-better": "more"}


def with_suggestions(values: Mapping[str, str], outcome: ColumnLook | None) -> dict[str, str]:
    """The form with the outcomes found where nothing was said: labels with words to be improved, or the range.

    How good each is nobody can guess.
    """
    said = dict(values)
    if outcome is None:
        return said
    if said.get("kind") == "tiers" and not any(said.get(f"decision-{part}-{row}") for row in ROWS for part in _PARTS):
        for row, label in enumerate(outcome.labels):
            said |= {f"decision-label-{row}": label, f"decision-words-{row}": readable(label).lower()}
    if said.get("kind") == "amount" and not any(said.get(f"amount-{end}") for end in _ENDS):
        said |= {f"amount-{end}": number for end, number in zip(_ENDS, outcome.ends, strict=False)}
    return said


def decided(form: Form) -> Plain:
    """As settings; nothing of two decisions."""
    kind = form.text("kind", 10)
    if kind == "tiers":
        return {"decisions": _decisions(form)}
    if kind == "amount":
        better, unit = form.text("amount-better", 10), form.text("amount-unit", 40)
        ends = {end: _end(form, end) for end in _ENDS}
        return {"amount": {"unit": unit, "better": "less" if better == "less" else "more", **ends}}
    return {}


def _decisions(form: Form) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {part: form.text(f"decision-{part}-{row}", _LONGEST) for part in _PARTS} for row in ROWS
    ]
    said = [row for row in rows if any(row.values())]
    if len(said) < 2:
        raise InputError(marked("Say what may be decided, at least two things, and how good each is for the person"))
    for row in said:
        about = row["words"] or row["label"]
        for part, words in (("label", "as it is written in the file"), ("words", "in the participants' words")):
            if not row[part]:
                raise InputError(f"The decision “{about}”: say what it is {words}")
        value = decimal_number(row["value"])
        if value is None or not 0 <= value <= 1:
            given = f"{row['value']!r} is no answer; " if row["value"] else ""
            raise InputError(f"How good is “{about}” for the person? {given}give a number from 0 to 1, such as 0.6")
        row["value"] = value
    return said


def _end(form: Form, end: str) -> float:
    text, title = form.text(f"amount-{end}", 40), Amount.model_fields[end].title
    number = decimal_number(text)
    if number is None:
        raise InputError(f"{title}: {text!r} is no number; write it in digits, such as 20000")
    return number
