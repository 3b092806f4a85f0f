"""Options that several commands share, written once: a dataclass as a parameter stands for all its fields.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Where:
...     people: str
...     id: str = "id"
>>> @with_option_groups
... def show(where: Where, out: str = "-") -> str:
...     return f"{where.people} {where.id} {out}"
>>> show(people="p.csv", out="x")
'p.csv id x'
>>> list(inspect.signature(show).parameters)
['people', 'id', 'out']
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Result = TypeVar("Result")


def with_option_groups(command: Callable[..., Result]) -> Callable[..., Result]:
    """Return the command with each parameter that is a dataclass replaced by the dataclass's fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if name != "return" and is_dataclass(kind)}
    parameters = [
        flat
        for name, parameter in inspect.signature(command).parameters.items()
        for flat in (_of_fields(groups[name]) if name in groups else [_keyword(parameter, hints[name])])
    ]

    @functools.wraps(command)
    def flattened(**given: object) -> Result:
        for name, kind in groups.items():
            own = {field.name: given.pop(field.name) for field in fields(kind) if field.name in given}
            given[name] = kind(**own)
        return command(**given)

    flattened.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flattened.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del flattened.__wrapped__  # or the original's annotations would be found
    return flattened


def _of_fields(kind: "type[DataclassInstance]") -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)
    ]


def _keyword(parameter: inspect.Parameter, hint: object) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hint)
