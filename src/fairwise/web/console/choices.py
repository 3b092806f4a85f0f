"""What an operator chooses for a new study: from the fields of a form to settings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairwise.errors import InputError
from fairwise.study.languages import SOURCE, available
from fairwise.study.new_study import readable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from fairwise.web.console.uploads import UploadedPeople
    from fairwise.web.shared.forms import Form

_WORDS = {"title": 500, "question": 20_000, "treated_well": 500, "contact": 300}
# Beside uniform pairs, by what share of all pairs: so that agreement, steadiness and attention can be measured.
_MIXED = {"anchors": 0.16, "repeats": 0.1, "checks": 0.06}
KINDS = (
    ("anchors", "Anchors", "the same pairs for several people, so that their agreement can be measured"),
    ("repeats", "Repeats", "earlier pairs once more with sides swapped: how steady are the answers?"),
    ("checks", "Checks", "two people with identical records: does the participant look?"),
    ("fixed", "Fixed", "the same for every participant"),
    ("active", "Active", "chosen on the way, where the answer is least certain; their answers need weights later"),
)
DESIGNS = ("mixed", "uniform", "own")
NO_OUTCOME = "none"
_MOST_PAIRS = 1000
_ID = re.compile(r"(^|[^a-z])(id|nr|no|number|key|person|code)$", re.IGNORECASE)
_DIGITS = re.compile(r"\d{1,6}")


@dataclass(frozen=True)
class Choices:
    """Everything, complete and sensible as far as the form alone can tell."""

    id_column: str
    outcome: str | None
    show: tuple[str, ...]
    settings: Mapping[str, Any]
    as_many_checks_as_possible: bool
    """Whether checks, which need two people who look the same, were asked for only where there are such."""

    def settings_for(self, people: pd.DataFrame) -> Mapping[str, Any]:
        """The settings, for these people."""
        if not self.as_many_checks_as_possible:
            return self.settings
        alike = people.groupby(list(self.show), dropna=False, observed=True).size()
        identical = int((alike * (alike - 1) // 2).sum())
        design = self.settings["design"]
        return {**self.settings, "design": {**design, "checks": min(design["checks"], identical)}}


def first_values(upload: UploadedPeople) -> dict[str, str]:
    """What the form says before anything is chosen: nothing is shown to participants by itself."""
    values = {"id": str(_likely_id(upload)), "outcome": "", "answers": "four", "design": "mixed", "pairs": "50"}
    values |= {"first": SOURCE, **dict.fromkeys(_WORDS, ""), **{kind: "0" for kind, *_ in KINDS}}
    for number, column in enumerate(upload.columns):
        values |= {f"label-{number}": readable(column.name), f"unit-{number}": "", f"place-{number}": str(number + 1)}
    return values


def _likely_id(upload: UploadedPeople) -> int:
    unique = [k for k, column in enumerate(upload.columns) if column.different == upload.rows]
    named = [k for k in unique if _ID.search(upload.columns[k].name)]
    return (named or unique or [0])[0]


def choices_of(form: Form, upload: UploadedPeople) -> Choices:
    """Everything that was chosen; the first thing that is missing is said."""
    id_column = _column(form, "id", upload)
    if id_column is None:
        raise InputError("Choose the column that tells people apart")
    outcome = _column(form, "outcome", upload)
    if outcome is None and form.text("outcome", 10) != NO_OUTCOME:
        raise InputError("Choose the column with the outcome, or say that there is none")
    shown = shown_columns(form, upload)
    if not shown:
        raise InputError("Tick at least one column that participants see")
    if not form.text("treated_well", _WORDS["treated_well"]):
        raise InputError("Say what the favourable outcome is, such as: being released until the trial")
    names = tuple(column["name"] for column in shown)
    return Choices(id_column, outcome, names, settings_of(form, upload), form.text("design", 10) == "mixed")


def settings_of(form: Form, upload: UploadedPeople) -> dict[str, Any]:
    """As settings; what was left empty is left out, so that our own words stand there."""
    words = {name: text for name, longest in _WORDS.items() if (text := form.text(name, longest))}
    first = form.text("first", 16)
    spoken = [first, *(code for code in available() if code != first and f"also-{code}" in form.fields)]
    pairs = _number(form, "pairs", "Pairs for each participant")
    if not 1 <= pairs <= _MOST_PAIRS:
        raise InputError(f"Pairs for each participant: {pairs}; allowed: 1 to {_MOST_PAIRS}")
    return {
        **words,
        "languages": spoken,
        "answers": form.text("answers", 10),
        "pairs": pairs,
        "design": _design(form, pairs),
        "columns": shown_columns(form, upload),
    }


def shown_columns(form: Form, upload: UploadedPeople) -> list[dict[str, str]]:
    """What participants see, in the order that was chosen."""
    ticked = [number for number in range(len(upload.columns)) if f"show-{number}" in form.fields]

    def place(number: int) -> tuple[int, int]:
        said = form.text(f"place-{number}", 10)
        return int(said) if _DIGITS.fullmatch(said) else len(upload.columns), number

    return [
        {
            "name": upload.columns[number].name,
            "label": form.text(f"label-{number}", 500) or readable(upload.columns[number].name),
            "unit": form.text(f"unit-{number}", 40),
        }
        for number in sorted(ticked, key=place)
    ]


def mixed(pairs: int) -> dict[str, int]:
    """How many of so many pairs are of another kind than uniform.

    >>> mixed(50)
    {'anchors': 8, 'repeats': 5, 'checks': 3}
    """
    return {kind: round(share * pairs) for kind, share in _MIXED.items()}


def _design(form: Form, pairs: int) -> dict[str, int]:
    wanted = form.text("design", 10)
    if wanted == "own":
        return {kind: _number(form, kind, f"The number of {kind}") for kind, *_ in KINDS}
    return mixed(pairs) if wanted == "mixed" else {}


def _number(form: Form, name: str, what: str) -> int:
    said = form.text(name, 20)
    if not _DIGITS.fullmatch(said or "0"):
        raise InputError(f"{what}: {said!r} is not a whole number from 0")
    return int(said or "0")


def _column(form: Form, name: str, upload: UploadedPeople) -> str | None:
    """Columns are chosen by their place in the file, as a name may be anything."""
    said = form.text(name, 10)
    known = _DIGITS.fullmatch(said) and int(said) < len(upload.columns)
    return upload.columns[int(said)].name if known else None
