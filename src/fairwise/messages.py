"""Sentences that keep their template and values, so that they are translated where they are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from fairwise.languages import Language

_PLACE = re.compile(r"\{(\w+)(?::(,?(?:\.\d{1,2})?[efg%]?))?\}")


def marked(text: str) -> str:
    """Return the text unchanged; the call puts it into the catalogues, to be translated where it is shown."""
    return text


class Message(str):
    """English text made from a template and values; :meth:`in_language` returns it in another language.

    Places are written ``{name}``, for numbers also with a format such as ``{share:.0%}`` or ``{count:,}``. A value may
    be a message itself. Templates may come from files, so nothing of a value is read but the value itself.

    Examples
    --------
    >>> Message("{share:.0%} of {what}", share=0.25, what=Message("everyone"))
    '25% of everyone'
    >>> Message.plural("{count:,} judge", "{count:,} judges", 1200)
    '1,200 judges'
    """

    __slots__ = ("forms", "template", "values")
    template: str
    values: Mapping[str, Any]
    forms: tuple[str, str, int] | None
    """Singular, plural and their number, where the template depends on a number."""

    def __new__(cls, template: str, /, **values: Any) -> Self:
        plain = {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}
        self = super().__new__(cls, _filled(template, plain, _english))
        self.template, self.values, self.forms = template, plain, None
        return self

    @classmethod
    def plural(cls, one: str, many: str, number: int, /, **values: Any) -> Self:
        """Return the message for a number, which both templates may show as ``{count}``."""
        self = cls(one if number == 1 else many, count=number, **values)
        self.forms = one, many, int(number)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Message.from_json, (self.to_json(),)

    def in_language(self, language: Language) -> str:
        """Return the text in a language, numbers included."""
        template = language.translate(self.template) if self.forms is None else language.ngettext(*self.forms)

        def shown(value: Any, form: str) -> str:
            text = _english(translated(value, language), form)
            return text if isinstance(value, str) or language.code == "en" else language.number_marks(text)

        return _filled(template, self.values, shown)

    def to_json(self) -> dict[str, Any]:
        """Return template and values as plain JSON."""
        values = {name: one.to_json() if isinstance(one, Message) else one for name, one in self.values.items()}
        forms = {} if self.forms is None else {"forms": list(self.forms)}
        return {"template": self.template, "values": values, **forms}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Message:
        """Return the message that :meth:`to_json` described."""
        values = {
            name: cls.from_json(one) if isinstance(one, Mapping) else one for name, one in content["values"].items()
        }
        self = cls(content["template"], **values)
        if "forms" in content:
            one, many, number = content["forms"]
            self.forms = str(one), str(many), int(number)
        return self


def translated(text: Any, language: Language) -> Any:
    """Return a message in a language, and anything else as it is."""
    return text.in_language(language) if isinstance(text, Message) else text


def message_table(*values: Any) -> dict[str, dict[str, Any]]:
    """Return the messages anywhere in these values by their English text, to be stored beside them."""
    messages: dict[str, dict[str, Any]] = {}
    for value in values:
        if isinstance(value, Message):
            messages[str(value)] = value.to_json()
        elif isinstance(value, Mapping):
            messages |= message_table(*value, *value.values())
        elif isinstance(value, Iterable) and not isinstance(value, str):
            messages |= message_table(*value)
    return messages


def restore_messages(value: Any, table: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the value with every text of the table replaced by its message."""
    if isinstance(value, str):
        return Message.from_json(table[value]) if value in table else value
    if isinstance(value, Mapping):
        return {restore_messages(name, table): restore_messages(one, table) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(restore_messages(one, table) for one in value)
    return value


def without_messages(value: Any) -> Any:
    """Return the value with every message replaced by its plain English text."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {without_messages(name): without_messages(one) for name, one in value.items()}
    return type(value)(map(without_messages, value)) if isinstance(value, list | tuple) else value


def _filled(template: str, values: Mapping[str, Any], shown: Callable[[Any, str], str]) -> str:
    return _PLACE.sub(lambda place: shown(values[place[1]], place[2] or ""), template)


def _english(value: Any, form: str) -> str:
    return format(value, form) if isinstance(value, int | float) else str.__str__(str(value))
