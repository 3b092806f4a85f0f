"""Models as files: plain arrays in a skops archive, never pickle.

A file holds no class of ours by name, only plain values (:func:`_document`), so modules may move and files of any
version still open. Whatever a file holds, compiled code must find what it expects: it is checked once it is read.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from math import isfinite, isnan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
import skops.io
from sklearn.base import BaseEstimator

from fairwise.constraints.certificate import Certificate
from fairwise.constraints.violations import STATUSES, WORDS_OF_0_1
from fairwise.errors import ModelFileError
from fairwise.learning.encoding import MAX_CATEGORIES, NumberColumn, TableEncoder
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.model.deterministic import Derandomization
from fairwise.learning.model.file_checks import check_members, parts_of, require, trusted_types
from fairwise.learning.model.mixture import Columns, Mixture
from fairwise.learning.oracles.base import Classifiers
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.scikit_learn import FittedClassifiers
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.tables import files
from fairwise.tables.output import write_whole

if TYPE_CHECKING:
    Model = TypeVar("Model", bound=PairwiseFairClassifier)


Document = dict[str, Any]
"""What a file holds, by name."""

_FORMAT = 1
_ROUNDING = 1e-6  # by how much the weights of a mixture may miss 1
_MOST_BYTES = 1 << 30  # unpacked; a model of thousands of trees has a hundredth of it
_KINDS: dict[str, Callable[..., Classifiers]] = {
    "linear": LinearClassifiers,
    "tree": TreeClassifiers,
    "scikit-learn": FittedClassifiers,
}
_TYPES = {
    "linear": {"coef": "f", "intercept": "f"},
    "tree": {"feature": "iu", "threshold": "f", "leaf": "iu"},
    "scikit-learn": {"thresholds": "f"},
}
_OF_OWN_KEYS = ("judge_budgets", "label_values")  # settings whose keys are the user's, of any type


_PRICES = ("judge", "a", "b", "answer", "price", "violation", "excess", "status")
_NUMBERS = ("price", "violation", "excess")


def save(model: PairwiseFairClassifier, path: str | PathLike[str], prices: str | PathLike[str] | None = None) -> None:
    """Write what prediction needs and what the fit said about itself; the file appears whole or not at all.

    It is opened once before it appears, so that whatever is saved can be loaded. It holds no single judgment: whoever
    gets a model need not get what each judge said. ``prices`` is where those go, as Parquet.
    """
    if prices is not None:
        table = model.prices_
        _write_whole(prices, "prices", lambda draft: table.to_parquet(draft, index=False))
    document, unknown = _document(model), set[str]()
    _write_whole(path, "model", lambda draft: unknown.update(_write(document, draft, type(model))))
    if unknown:
        warnings.warn(
            f"{path}: saved, but it holds types that are not known to be safe, so that loading must name them: "
            f"load(path, trusted={sorted(unknown)}).",
            stacklevel=3,
        )


def _write_whole(path: str | PathLike[str], what: str, write: Callable[[Path], object]) -> None:
    try:
        write_whole(Path(path), write)
    except OSError as error:
        raise ModelFileError(f"{path}: the {what} could not be written ({error.strerror or error}).") from error
    except (ModelFileError, ValueError, TypeError) as error:  # arrow's own errors are ValueErrors and TypeErrors
        raise ModelFileError(f"{path}: this model cannot be saved: {error}") from error


def load(
    cls: type[Model],
    path: str | PathLike[str],
    trusted: list[str] | None = None,
    prices: str | PathLike[str] | None = None,
) -> Model:
    """Read a model file; refuse anything else, and types that are neither plain, scikit-learn's nor ``trusted``.

    ``prices`` is the file that was written beside it.
    """
    model = _load(cls, path, trusted)
    if prices is not None:
        model._prices = _read_prices(prices)
    return model


def _read_prices(path: str | PathLike[str]) -> Columns:
    try:
        with Path(path).open("rb") as file:
            table = files.read_open_parquet(file)
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file.") from None
    except files.DAMAGES as error:
        raise ModelFileError(f"{path}: not a file of prices ({error}).") from None
    missing = [name for name in _PRICES if name not in table]
    if missing:
        raise ModelFileError(f"{path}: not a file of prices: the column {missing[0]!r} is missing.")
    for name in _NUMBERS:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            raise ModelFileError(f"{path}: not a file of prices: the column {name!r} is not of numbers.")
    table["status"] = table["status"].replace(WORDS_OF_0_1)
    odd = ~table["status"].isin(STATUSES)
    if odd.any():
        allowed = ", ".join(map(repr, STATUSES))
        row, value = int(odd.to_numpy().argmax()) + 1, table["status"][odd].iloc[0]
        raise ModelFileError(f"{path}: not a file of prices: row {row}: status {value!r}; allowed: {allowed}.")
    return {name: table[name].tolist() for name in _PRICES}


def _load(cls: type[Model], path: str | PathLike[str], trusted: list[str] | None) -> Model:
    try:
        _refuse_bombs(path)
        allowed = sorted({*trusted_types(_kind_of(path)), *(trusted or [])})
        unknown = set(skops.io.get_untrusted_types(file=path)) - set(allowed)
        document = None if unknown else skops.io.load(path, trusted=allowed)
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file.") from None
    except ModelFileError:
        raise
    except Exception as error:  # a file from elsewhere can fail in any way inside skops
        raise ModelFileError(f"{path}: not a fairwise model file ({error}).") from error
    if unknown:
        raise ModelFileError(
            f"{path}: refused, because opening it would run code of types that are not known to be safe: "
            f"{', '.join(sorted(unknown))}. If you trust the file's author, name them: load(path, trusted=[…])."
        )
    if not isinstance(document, dict) or "fairwise_model" not in document:
        raise ModelFileError(f"{path}: a skops file, but not a fairwise model.")
    if document["fairwise_model"] != _FORMAT:
        raise ModelFileError(
            f"{path}: written in format {document['fairwise_model']}, this version reads format {_FORMAT}. "
            "Use the version of fairwise that wrote it."
        )
    try:
        return _rebuild(cls, document)
    except Exception as error:  # what is inside may be of any type where another is needed
        reason = str(error) if isinstance(error, ValueError) else repr(error)
        raise ModelFileError(f"{path}: a fairwise model, but damaged or changed ({reason}).") from error


def _document(model: PairwiseFairClassifier) -> Document:
    classifiers = model.classifiers_
    derandomization = getattr(model, "derandomization_", None)
    settings = model.get_params(deep=False)
    if settings["features"] is not None:
        settings["features"] = pd.Index(list(settings["features"])).tolist()  # whatever it was given as
    return {
        "fairwise_model": _FORMAT,
        "settings": settings | {name: _as_pairs(settings[name]) for name in _OF_OWN_KEYS if name in settings},
        "classes": model.classes_.tolist(),
        "n_features": model.n_features_in_,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "features": model.features_,
        "encoder": None if model._encoder is None else model._encoder.state(),
        "kind": next(name for name, known in _KINDS.items() if type(classifiers) is known),
        "classifiers": classifiers.state(),
        "weights": model.weights_,
        "threshold": model._threshold,
        "seed": model._seed,
        "certificate": asdict(model.certificate_),
        "derandomization": None if derandomization is None else asdict(derandomization),
        "prices": {},  # single judgments; version 0.1 had them here
        "trajectory": model._trajectory,
        "group_rules": model._group_rules,
    }


def _write(document: Document, path: Path, cls: type[PairwiseFairClassifier]) -> set[str]:
    """Write the file, and open it again; returns the types that whoever loads it must trust."""
    try:
        skops.io.dump(document, path)
        needed = skops.io.get_untrusted_types(file=path)
        _rebuild(cls, skops.io.load(path, trusted=needed))
    except OSError:
        raise
    except Exception as error:  # skops and the types of others fail in ways of their own
        raise ModelFileError(
            f"what was written could not be read again ({error}). Functions and classes must be importable by their "
            "name from a module, and each part must be one that skops can write."
        ) from error
    return set(needed) - trusted_types(document["kind"])


def _as_pairs(value: Any) -> Any:
    """A mapping as a list of pairs: in skops's JSON every key is text, and a False would come back as True."""
    return [[key, _as_pairs(inner)] for key, inner in value.items()] if isinstance(value, Mapping) else value


def _from_pairs(value: Any) -> Any:
    return {key: _from_pairs(inner) for key, inner in value} if isinstance(value, list) else value


def _refuse_bombs(path: str | PathLike[str]) -> None:
    """A small file may unpack to any size; what it says of itself is all that is ever read of it."""
    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
            raise ModelFileError(f"{path}: more than {_MOST_BYTES >> 30} GiB when unpacked; not a fairwise model.")


def _kind_of(path: str | PathLike[str]) -> str:
    """The kind of classifiers that a file says it holds, before anything of it is made; "" of no model of ours."""
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    try:
        return str(json.loads(schema["content"]["kind"]["content"]))
    except (KeyError, TypeError, ValueError):
        return ""


def _rebuild(cls: type[Model], document: Document) -> Model:
    settings = document["settings"]
    model = cls(**settings | {name: _from_pairs(settings[name]) for name in _OF_OWN_KEYS if name in settings})
    model.classes_ = np.array(document["classes"])
    model.n_features_in_ = document["n_features"]
    if document["feature_names"]:
        model.feature_names_in_ = np.array(document["feature_names"], dtype=object)
    every: list[Any] = document["feature_names"] or list(range(document["n_features"]))
    model.features_ = document.get("features", every)  # version 0.1 used all
    model._encoder = None if document["encoder"] is None else TableEncoder.from_state(document["encoder"])
    model._mixture = Mixture(_classifiers(document["kind"], document["classifiers"]), document["weights"])
    model._threshold = document["threshold"]
    model._seed = document["seed"]
    model.certificate_ = Certificate(**document["certificate"])
    derandomization = document["derandomization"]
    # Version 0.1 wrote fewer fields, with the mean violation of another average: better nothing is said than that.
    if derandomization is not None and set(derandomization) == set(Derandomization.__dataclass_fields__):
        model.derandomization_ = Derandomization(**derandomization)
    model._prices = document["prices"] or None
    model._trajectory = document["trajectory"]
    model._group_rules = document["group_rules"]
    model._training = None
    _check_document(document, model.features_, model._encoder, model._mixture)
    if model._prices is not None:
        model._prices["status"] = [WORDS_OF_0_1.get(status, status) for status in model._prices["status"]]
    if document["kind"] == "scikit-learn":
        check_members(document)
    elif any(isinstance(part, BaseEstimator) for part in parts_of(document)):
        raise ValueError(f"a model of kind {document['kind']!r} holds nothing of scikit-learn's, but this one does")
    return model


def _classifiers(kind: str, state: Document) -> Classifiers:
    """The classifiers of a mixture; their arrays must be of the types that are written."""
    for name, types in _TYPES[kind].items():
        if not (isinstance(state[name], np.ndarray) and state[name].dtype.kind in types):
            raise ValueError(f"the classifiers' {name} is no array of numbers")
    return _KINDS[kind](**state)


def _check_document(document: Document, features: list[Any], encoder: TableEncoder | None, mixture: Mixture) -> None:
    """Raise a ValueError for the first part of a model file that does not fit the others."""
    n_columns, names, threshold = document["n_features"], document["feature_names"], document["threshold"]
    require(type(n_columns) is int and n_columns >= 1, "the number of columns is none")
    require(len(names) in {0, n_columns}, "there are more or fewer columns than names of columns")
    require(
        isinstance(features, list)
        and 1 <= len(features) <= n_columns
        and all(type(name) in (str, int) for name in features)
        and len(set(features)) == len(features)
        and (not names or set(features) <= set(names)),
        "it does not say which columns are used",
    )
    require(len(set(document["classes"])) == len(document["classes"]) == 2, "the outcomes are not two")
    require(type(document["seed"]) is int, "the seed is no whole number")
    require(threshold is None or (type(threshold) is float and not isnan(threshold)), "the threshold is no number")
    if encoder is not None:
        require(len(encoder.columns) == len(features), "more or fewer columns are encoded than are used")
        _check_encoder(encoder, features if names else [])
    _check_mixture(mixture, encoder)
    for table in (document["prices"], document["trajectory"], document["group_rules"]):
        require(len({len(column) for column in table.values()}) <= 1, "a table has columns of different lengths")


def _check_encoder(encoder: TableEncoder, names: list[str]) -> None:
    require(not names or names == [column.name for column in encoder.columns], "columns are encoded by other names")
    for column in encoder.columns:
        require(type(column.marks_missing) is bool, f"column {column.name!r} does not say whether values were missing")
        if isinstance(column, NumberColumn):
            numbers = (column.shift, column.scale, column.fill)
            require(
                all(type(number) is float and isfinite(number) for number in numbers) and column.scale > 0,
                f"column {column.name!r} is shifted or scaled by what is no number",
            )
        else:
            require(
                all(type(category) is str for category in column.categories)
                and len(set(column.categories)) == len(column.categories) <= MAX_CATEGORIES,
                f"column {column.name!r} has categories that are no text, or twice there, or too many",
            )


def _check_mixture(mixture: Mixture, encoder: TableEncoder | None) -> None:
    weights, classifiers = mixture.weights, mixture.classifiers
    require(
        isinstance(weights, np.ndarray)
        and weights.dtype == np.float64
        and weights.shape == (len(classifiers),)
        and len(weights) >= 1
        and bool((weights >= 0).all())
        and abs(float(weights.sum()) - 1.0) <= _ROUNDING,
        "the weights are not one for each classifier, from 0 up, and 1 together",
    )
    if isinstance(classifiers, FittedClassifiers):
        require(
            classifiers.thresholds.shape == (len(classifiers.members),)
            and all(
                member in (0, 1) if type(member) is int else hasattr(member, "predict")
                for member in classifiers.members
            ),
            "a classifier is none, or has no threshold",
        )
        return
    require(encoder is not None, "it is not said how columns are encoded")
    width = len(encoder.outputs) if encoder else 0
    if isinstance(classifiers, TreeClassifiers):
        require(classifiers.feature.max() < width, "a tree looks at a column that is not there")
    if isinstance(classifiers, LinearClassifiers):
        coef, intercept = classifiers.coef, classifiers.intercept
        require(
            coef.shape == (len(weights), width) and intercept.shape == (len(weights),),
            "coefficients are not one for each column",
        )
        require(np.isfinite(coef).all() and np.isfinite(intercept).all(), "a coefficient is no number")
