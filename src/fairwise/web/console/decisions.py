"""What is decided, as an operator says it: several decisions, an amount, or neither for the usual two.

While a study is made it is suggested from the outcomes found, and read again; later it is a section of the editor.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairwise.errors import InputError
from fairwise.study.cards import ID
from fairwise.study.design import MOST_DECISIONS, Amount, Decision, OutcomeWords, check_outcome
from fairwise.study.folder import OUTCOME, SETTINGS
from fairwise.study.new_study import readable
from fairwise.study.settings import StudySettings
from fairwise.study.texts import marked
from fairwise.study.toml import Plain
from fairwise.tables.files import read_parquet
from fairwise.tables.look import ColumnLook
from fairwise.tables.rows import Source
from fairwise.web.console.section import SettingsSection, filled
from fairwise.web.console.settings_form import Group, group_of
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
_BLANK = 3


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


class DecisionsSection(SettingsSection):
    name, title = "decisions", marked("What is decided")
    about = marked("Fill in the part that fits: words for one of two things, several decisions, or an amount.")

    def _groups(self) -> Sequence[Group]:
        shown = min(len(self.settings.decisions) + _BLANK, MOST_DECISIONS)
        rows = [
            group_of(f"Decision {k + 1}", [f"decisions.{k}.{name}" for name in Decision.model_fields], optional=True)
            for k in range(shown)
        ]
        rows[0] = replace(rows[0], about=marked("Participants read the words, from best to worst, and no numbers."))
        amount = group_of(marked("An amount"), [f"amount.{name}" for name in Amount.model_fields], optional=True)
        fields = [f"outcome_words.{name}" for name in OutcomeWords.model_fields]
        two = replace(
            group_of(marked("One of two things"), fields, optional=True),
            about=marked("Pages and reports use these words instead of what stands in the file."),
        )
        return (two, *rows, amount)

    def _content(self) -> Plain:
        content = super()._content()
        return {**content, **{name: content[name] or {} for name in ("outcome_words", "amount")}}

    def _rows(self, content: Plain) -> tuple[str, list[int]]:
        return "decisions", filled(content["decisions"])

    def _settings(self, content: Plain) -> Plain:
        said = {name: value for name, value in content["amount"].items() if value not in ("", None)}
        words = {name: value for name, value in content["outcome_words"].items() if value}
        return {**content, "outcome_words": words or None, "amount": said if said.keys() - {"better"} else None}

    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:
        """As ever, and refused if the outcomes that are there are others."""
        changed = super().changes(form, locked=locked)
        file = self.home / OUTCOME
        if SETTINGS in changed and file.exists():
            new = StudySettings.checked(tomllib.loads(changed[SETTINGS]), SETTINGS)
            outcome = read_parquet(file).to_pandas().set_index(ID).iloc[:, 0]
            check_outcome(outcome, Source("people", labels=outcome.index), new.decisions, new.amount)
            if new.outcome_kind == "yes-no" and outcome.nunique() != 2:
                raise InputError(f"there are {outcome.nunique()} different outcomes; say what may be decided")
        return changed
