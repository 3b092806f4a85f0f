"""Tables of settings: what all of them have in common, how forms ask for them, and how TOML is read and written."""

from __future__ import annotations

import tomllib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import tomlkit
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Comment, Item, Whitespace

from fairwise.errors import InputError, cut

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Unit = Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)]
Contact = Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]

Plain = dict[str, Any]
"""Content of a file or a form: texts, numbers, booleans, lists and tables of these."""

_LONGEST_FILE, _MOST_DOTS = 1_000_000, 100


@dataclass(frozen=True)
class Input:
    """Details of a form field that its pydantic field lacks."""

    hint: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """Every value that may be chosen, with its words."""

    locked: bool = False
    """Whether it decides which pairs are shown, or what is shown of people."""


class SettingError(InputError):
    """A setting that cannot be; `path` says which, such as ``columns.0.label``, and is empty if it is none alone."""

    def __init__(self, message: str, path: str, reason: str) -> None:
        super().__init__(message)
        self.path, self.reason = path, reason


class SettingsTable(BaseModel):
    """Immutable settings without unknown names; the docstring of a setting stands above it in ``study.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class SettingsFile(SettingsTable):
    """All settings of a file."""

    @classmethod
    def checked(cls, content: Mapping[str, object], where: str) -> Self:
        """Return settings from plain values; errors begin with `where` and name the setting."""
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            path, reason = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
            raise SettingError(f"{where}: {_in_words(first, reason)}", path, reason) from None

    def content(self) -> Plain:
        """Return all that is said, as TOML has it: nothing that is None, and no empty tables."""
        content: Plain = without_empty(self.model_dump(mode="json"))
        return content

    @abstractmethod
    def toml(self) -> str:
        """Return a text of the file that says this."""

    def edited(self, text: str, new: Self) -> str:
        """Return the text of a file that said this with other settings in it; comments stay, and all that stays so."""
        try:
            after = edit_toml(text, self._as_written(text), new.content())
            in_place = type(self).model_validate(tomllib.loads(after)).content() == new.content()
        except (TOMLKitError, ValueError, RecursionError):
            in_place = False
        return after if in_place else new.toml()

    def _as_written(self, text: str) -> Plain:  # noqa: ARG002 - for files that say a thing in two ways
        return self.content()


def _in_words(problem: ErrorDetails, reason: str) -> str:
    where = cut(".".join(str(step + 1) if isinstance(step, int) else str(step) for step in problem["loc"]))
    if problem["type"] == "missing":
        return f"the setting {where} is missing"
    if problem["type"] == "extra_forbidden":
        return f"there is no setting {where}"
    value = f" = {cut(repr(problem['input']))}" if not isinstance(problem["input"], dict) else ""
    return f"{where}{value}: {reason}" if where else reason


def read_toml(file: Path) -> Plain:
    """Return what a file of settings says; errors name the file."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        _refuse_long(file, text)
        return tomllib.loads(text)
    except InputError:  # which is a ValueError, and says itself what is wrong
        raise
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: not text in UTF-8") from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InputError(f"{file}: not valid TOML: {error}") from None


def _refuse_long(file: Path, text: str) -> None:
    """Refuse long files and keys of many parts: reading a key of n parts takes time that grows with n²."""
    if len(text) > _LONGEST_FILE:
        raise InputError(f"{file}: longer than {_LONGEST_FILE:,} characters; this is no file of settings")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MOST_DOTS:
            raise InputError(f"{file}, line {number}: more than {_MOST_DOTS} dots in one line; no setting needs that")


def setting_line(name: str, value: object) -> str:
    """Return a setting as a line of TOML.

    >>> setting_line("short name", ("a", 1))
    '"short name" = ["a", 1]'
    """
    written = tomlkit.item(list(value) if isinstance(value, tuple) else value)
    return f"{tomlkit.key(name).as_string()} = {written.as_string()}"


def explained_lines(table: BaseModel, explained: bool = True) -> Iterator[str]:
    """Every setting of a table that has a value, below a line that explains it."""
    for name, info in type(table).model_fields.items():
        if (value := getattr(table, name)) is not None:
            if explained:
                yield f"# {info.description}"
            yield setting_line(name, value)


def edit_toml(text: str, old: Plain, new: Plain) -> str:
    """Return a file of settings with what differs between `old` and `new`; all else, comments too, stays as it was.

    A setting that is not in `new` is taken out.
    """
    document = tomlkit.parse(text)
    _edit(document, old, new)
    return tomlkit.dumps(document)


def _edit(table: MutableMapping[str, Any], old: Plain, new: Plain) -> None:
    for name in old | new:
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if isinstance(table.get(name), MutableMapping):
            _edit(table[name], before or {}, after or {})
        elif isinstance(table.get(name), AoT):
            _edit_rows(table, name, before or [], after or [])
        elif after is None:
            table.pop(name, None)
        else:
            table[name] = after


def _edit_rows(table: Any, name: str, before: list[Plain], after: list[Plain]) -> None:
    """Row by row; comments behind the last one are mostly about what comes next, and stay behind the last one."""
    rows = table[name]
    for row, old, new in zip(rows, before, after, strict=False):
        _edit(row, old, new)
    trailing: list[Item] = []
    while rows[-1].value.body[-1][0] is None:
        trailing.insert(0, rows[-1].value.body.pop()[1])
    for row in after[len(before) :]:
        rows[-1].add(tomlkit.nl())
        rows.append(tomlkit.item(row))
    del rows[len(after) :]
    if not after:
        del table[name]
    for item in trailing:
        if isinstance(item, Comment | Whitespace):  # and not what stands for a setting that was taken out
            (rows[-1] if after else table).add(item)


def without_empty(values: Any) -> Any:
    """Return plain values without those that are None, and without empty tables."""
    if isinstance(values, dict):
        inner = {name: without_empty(value) for name, value in values.items()}
        return {name: value for name, value in inner.items() if value is not None and value != {}}
    return [without_empty(value) for value in values] if isinstance(values, list) else values
