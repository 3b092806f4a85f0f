"""Provenance of a curve, stored with it: checksums of people, outcomes, judgments and settings."""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd

import fairwise  # whose classifier is loaded when it is first used: scikit-learn takes a second
from fairwise.errors import InputError, quote

if TYPE_CHECKING:
    from fairwise.auditing.error_measure import Model
    from fairwise.judgments import Judgments
    from fairwise.tables.output import JSON

COLUMN = "made_from"
_VARIED = ("gamma", "eta")
_ANSWER_COLUMNS = ("judge", "a", "b", "answer", "weight")
_DIGITS = 16
_COMPUTING = ("numpy", "pandas", "scikit-learn", "highspy", "numba")
_PARTS = {"auditing", "constraints", "judgments", "learning", "tables"}
_WHOLE = 10**6  # characters of a repr
_WORDS = {
    "people": "other people, other columns to learn from or other values in them",
    "outcome": "other outcomes",
    "judgments": "other judgments",
}


@dataclass(frozen=True)
class Provenance:
    """Checksums of the tables, None where one is not known, and the settings that are not the default.

    The order of rows and columns plays no part. Weights of people and groups for rules are not among them.
    """

    people: str | None
    outcome: str | None
    judgments: str | None
    settings: dict[str, JSON]

    @classmethod
    def of(
        cls, people: pd.DataFrame | None, outcome: object, judgments: Judgments, settings: Mapping[str, object]
    ) -> Provenance:
        """``outcome`` is in the order of ``people``; a table that is read in blocks has neither."""
        label = None
        if people is not None and outcome is not None:
            codes = np.unique(np.asarray(outcome), return_inverse=True)[1]
            label = _checksum(pd.DataFrame({"label": codes}, index=people.index), index=True)
        answers = judgments.counted()[list(_ANSWER_COLUMNS)].astype(dict.fromkeys(_ANSWER_COLUMNS[:-1], str))
        return cls(
            people=None if people is None else _checksum(people, index=True),
            outcome=label,
            judgments=_checksum(answers, index=False),
            settings=_non_default(settings),
        )

    @classmethod
    def read(cls, text: str, source: str) -> Provenance:
        """Read what `str` wrote."""
        try:
            content = json.loads(text)
            return cls(**{name: content[name] for name in ("people", "outcome", "judgments", "settings")})
        except (TypeError, ValueError, KeyError, RecursionError):
            raise InputError(f"{source}, column {COLUMN}: {quote(text)} is not what fairwise writes there") from None

    def __str__(self) -> str:
        return json.dumps(self.__dict__, sort_keys=True)

    def differences(self, model: Provenance) -> list[str]:
        """Describe what differs from a model; a table that either does not know is not compared."""
        both = ((getattr(self, name), getattr(model, name), words) for name, words in _WORDS.items())
        result = [words for own, other, words in both if own is not None and other is not None and own != other]
        default = _defaults()
        for name in sorted({*self.settings, *model.settings}):
            own, other = (settings.get(name, default.get(name)) for settings in (self.settings, model.settings))
            if own != other:
                result.append(f"{name} = {own}, where the model has {other}")
        return result


def refuse_other_origin(frontier: pd.DataFrame, model: Provenance, source: str = "frontier") -> None:
    """Refuse a curve that says it was made from something else than a model; one made by hand says nothing."""
    for text in frontier[COLUMN].dropna().unique() if COLUMN in frontier else ():
        differences = Provenance.read(text, source).differences(model)
        if differences:
            raise InputError(
                f"{source}: this curve is not the model's, but was made with {'; '.join(differences)}. Trace it again "
                "with the model's people, judgments and settings"
            )


def checksum_of_tables(*tables: Any) -> hashlib._Hash:
    """A SHA-256 of several tables, to which more can be added; here the order of rows counts."""
    content = hashlib.sha256()
    for table in tables:
        frame = pd.DataFrame(table)
        content.update(repr(list(frame.columns)).encode())
        content.update(pd.util.hash_pandas_object(frame, index=True).to_numpy().tobytes())
    return content


@cache
def checksum_of_code() -> str:
    """Return a checksum of this package's modules, and the versions of the packages that compute with them."""
    content = hashlib.sha256(repr([version(name) for name in ("fairwise", *_COMPUTING)]).encode())
    folder = Path(fairwise.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        if file.relative_to(folder).parts[0] in _PARTS:
            content.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes())
    return content.hexdigest()


def checksum_of_settings(settings: object) -> str:
    """Not of their repr: that of an estimator leaves things out, and that of a rule is where it lies in memory."""
    return str(joblib.hash(settings))


def _checksum(table: pd.DataFrame, *, index: bool) -> str:
    frame = table.reindex(columns=sorted(table.columns, key=str))
    rows = np.sort(pd.util.hash_pandas_object(frame, index=index).to_numpy())
    return hashlib.sha256(repr(list(map(str, frame.columns))).encode() + rows.tobytes()).hexdigest()[:_DIGITS]


def _non_default(settings: Mapping[str, object]) -> dict[str, JSON]:
    """Settings that are not the classifier's default, but for those a curve varies; what is not plain as a checksum.

    A regressor's own are among them, so that a curve of amounts is never taken for one of labels.
    """
    default = _defaults()
    values = {name: _as_json(value) for name, value in settings.items() if name not in _VARIED}
    return {name: value for name, value in values.items() if value != default.get(name)}


def default_settings() -> dict[str, object]:
    """Every setting of the estimator, with its default."""
    return dict(fairwise.PairwiseFairClassifier().get_params(deep=False))


def _defaults() -> dict[str, JSON]:
    return {name: _as_json(value) for name, value in default_settings().items()}


def _as_json(value: object) -> JSON:
    """A setting as JSON can hold it; an object is its repr where that says everything, else its checksum."""
    from sklearn.base import BaseEstimator  # a second to load, which audits do without

    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(part) for part in value]
    if isinstance(value, BaseEstimator):
        return " ".join(value.__repr__(N_CHAR_MAX=_WHOLE).split())
    try:
        return f"{type(value).__name__} {checksum_of_settings(value)[:_DIGITS]}"
    except (PicklingError, AttributeError, TypeError):
        return type(value).__name__


# What a report was made from and with, so that anyone can do it again.

_PACKAGES = ("fairwise", "numpy", "pandas", "scipy", "scikit-learn", "highspy", "fairlearn")


@dataclass(frozen=True)
class Recipe:
    """Names and values, ready to be shown; a checksum is the SHA-256 of the table as a CSV file."""

    settings: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    judgments_checksum: str
    people_checksum: str

    @classmethod
    def of(cls, model: Model, judgments: Judgments, people: pd.DataFrame) -> Recipe:
        settings = model.get_params(deep=False)
        return cls(
            settings=tuple((name, repr(value)) for name, value in sorted(settings.items())),
            versions=(("Python", platform.python_version()), *((name, version(name)) for name in _PACKAGES)),
            judgments_checksum=_checksum_as_written(judgments),
            people_checksum=hashlib.sha256(people.to_csv(lineterminator="\n").encode()).hexdigest(),
        )


def _checksum_as_written(judgments: Judgments) -> str:
    """Of the very file that ``judgments.write("judgments.csv")`` makes, so that anyone can compare it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments.csv"
        judgments.write(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()
