"""The section of the study editor about arms: a form for each, and for one or two more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairwise.study.arms import MOST_ARMS, Arm
from fairwise.study.languages import marked
from fairwise.study.toml import Plain, SettingError
from fairwise.web.console.section import SettingsSection
from fairwise.web.console.settings_form import FormField, Group, group_of

_COLUMNS = "columns"
_FIELDS = [name for name in Arm.model_fields if name != _COLUMNS]
_NEW = Arm(name="new").model_dump(mode="json") | {"name": ""}
_NOTHING_SHOWN = marked("at least one column must be shown")


class ArmsSection(SettingsSection):
    name, title = "arms", marked("Arms")
    about = marked(
        "Groups to which chance assigns participants, each of which is shown something else. Leave everything empty "
        "for none; otherwise give two or more. What an arm does not change is as in the whole study."
    )

    def _groups(self) -> Sequence[Group]:
        return [*self._all_groups()]

    def _all_groups(self) -> Iterator[Group]:
        for k in range(len(self._content()["arms"])):
            yield group_of(f"Arm {k + 1}", [f"arms.{k}.{name}" for name in _FIELDS], optional=True)
            ticks = [
                FormField(f"arms.{k}.{_COLUMNS}.{j}", column.label, "yes", locked=True)
                for j, column in enumerate(self.settings.columns)
            ]
            yield Group(marked("Columns that are shown"), ticks)

    def _content(self) -> Plain:
        """With a tick for each column that an arm shows."""
        content = super()._content()
        new = min(2 if not content["arms"] else 1, MOST_ARMS - len(content["arms"]))
        content["arms"] = [
            arm | {_COLUMNS: [not arm[_COLUMNS] or column.name in arm[_COLUMNS] for column in self.settings.columns]}
            for arm in (*content["arms"], *(dict(_NEW) for _ in range(new)))
        ]
        return content

    def _rows(self, content: Plain) -> tuple[str, list[int]]:
        """Those in which something was said."""
        nothing = _NEW | {_COLUMNS: [True] * len(self.settings.columns)}
        return "arms", [k for k, row in enumerate(content["arms"]) if {**row, "share": row["share"] or 1} != nothing]

    def _settings(self, content: Plain) -> Plain:
        names = [column.name for column in self.settings.columns]
        for k, arm in enumerate(content["arms"]):
            ticks = arm[_COLUMNS]
            if not any(ticks):
                raise SettingError(f"arms: {_NOTHING_SHOWN}", f"arms.{k}.{_COLUMNS}.0", _NOTHING_SHOWN)
            arm[_COLUMNS] = [] if all(ticks) else [name for name, tick in zip(names, ticks, strict=True) if tick]
            arm["share"] = arm["share"] or 1
        return content
