"""What is decided, in the editor of a study: several decisions, an amount, or neither for the usual two."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace

from fairwise.errors import InputError
from fairwise.study.cards import ID
from fairwise.study.decisions import MOST_DECISIONS, Amount, Decision, check_outcome
from fairwise.study.folder import OUTCOME, SETTINGS
from fairwise.study.languages import marked
from fairwise.study.settings import StudySettings
from fairwise.study.toml import Plain
from fairwise.tables.files import read_parquet
from fairwise.tables.row_errors import Source
from fairwise.web.console.section import SettingsSection
from fairwise.web.console.settings_form import Group, group_of
from fairwise.web.shared.forms import Form

_BLANK = 3


class DecisionsSection(SettingsSection):
    name, title = "decisions", marked("What is decided")
    about = marked(
        "For decisions that are not yes or no. Leave everything empty if one of two things is decided; otherwise fill "
        "in the decisions, or the amount."
    )

    def _groups(self) -> Sequence[Group]:
        shown = min(len(self.settings.decisions) + _BLANK, MOST_DECISIONS)
        rows = [
            group_of(f"Decision {k + 1}", [f"decisions.{k}.{name}" for name in Decision.model_fields], optional=True)
            for k in range(shown)
        ]
        rows[0] = replace(rows[0], about=marked("Participants read the words, from best to worst, and no numbers."))
        amount = group_of(marked("An amount"), [f"amount.{name}" for name in Amount.model_fields], optional=True)
        return (*rows, amount)

    def _content(self) -> Plain:
        content = super()._content()
        return {**content, "amount": content["amount"] or {}}

    def _rows(self, content: Plain) -> tuple[str, list[int]]:
        rows = content["decisions"]
        return "decisions", [k for k, row in enumerate(rows) if any(value not in ("", None) for value in row.values())]

    def _settings(self, content: Plain) -> Plain:
        said = {name: value for name, value in content["amount"].items() if value not in ("", None)}
        return {**content, "amount": said if said.keys() - {"better"} else None}

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
