"""Models as files: plain arrays in a skops archive, never pickle.

A file holds no class of ours by name, only plain values (:func:`_document`), so modules may move and files still open.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable, Mapping
from importlib.metadata import version
from io import BytesIO
from os import PathLike
from pathlib import Path
from shutil import copyfileobj
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
import skops.io
from sklearn import __version__ as sklearn_version
from sklearn.exceptions import InconsistentVersionWarning

from fairwise.constraints.violations import STATUSES
from fairwise.errors import ModelFileError, ModelKindError, ModelVersionWarning, warn
from fairwise.learning.encoding import TableEncoder
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.model.amount_files import amounts_part, fill
from fairwise.learning.model.document_checks import Document, check_document, members_of, trusted_types
from fairwise.learning.model.mixture import Columns, Mixture
from fairwise.learning.oracles.base import Classifiers
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.scikit_learn import FittedClassifiers, pack
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.learning.regressor import PairwiseFairRegressor
from fairwise.results.certificate import Certificate
from fairwise.results.simpler_models import Derandomization, Simplification
from fairwise.tables.files import check_parquet, read_parquet
from fairwise.tables.output import write_whole
from fairwise.tables.parsing import DAMAGES

if TYPE_CHECKING:
    Classifier = TypeVar("Classifier", bound=PairwiseFairClassifier)
    Model = TypeVar("Model", bound=PairwiseFairClassifier | PairwiseFairRegressor)


_FORMAT = 1
_VERSION = version("fairwise")
_MOST_BYTES = 1 << 30  # unpacked; a model of thousands of trees has a hundredth of it
_COMPRESSION = zipfile.ZIP_DEFLATED
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
_OF_OWN_KEYS = ("judge_budgets", "label_values", "loss")  # settings whose keys are the user's, of any type


_PRICES = ("judge", "a", "b", "answer", "price", "violation", "excess", "status")
_NUMBERS = ("price", "violation", "excess")


def save(
    model: PairwiseFairClassifier | PairwiseFairRegressor,
    path: str | PathLike[str],
    prices: str | PathLike[str] | None = None,
) -> None:
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
        warn(
            f"{path}: saved, but it holds types that are not known to be safe, so that loading must name them: "
            f"load(path, trusted={sorted(unknown)})."
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
    model, versions = _load(cls, path, trusted)
    if prices is not None:
        _set_prices(model, _read_prices(prices))
    if versions:
        saved, here = (" and ".join(f"{name} {pair[i]}" for name, pair in versions.items()) for i in (0, 1))
        warn(
            f"{path}: saved with {saved}, opened with {here}. Its probabilities may differ: compare some with earlier "
            "ones, or fit again.",
            ModelVersionWarning,
        )
    return model


def _set_prices(model: PairwiseFairClassifier | PairwiseFairRegressor, prices: Columns) -> None:
    if isinstance(model, PairwiseFairRegressor):  # in units of the loss
        prices["price"] = [price / model.amounts.unit for price in prices["price"]]
        model._model._prices = prices
    else:
        model._prices = prices


def _read_prices(path: str | PathLike[str]) -> Columns:
    if not Path(path).exists():
        raise ModelFileError(f"{path}: no such file.")
    try:
        check_parquet(Path(path))
        table = read_parquet(Path(path)).to_pandas()
    except DAMAGES as error:
        raise ModelFileError(f"{path}: not a file of prices ({error}).") from None
    missing = [name for name in _PRICES if name not in table]
    if missing:
        raise ModelFileError(f"{path}: not a file of prices: the column {missing[0]!r} is missing.")
    for name in _NUMBERS:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            raise ModelFileError(f"{path}: not a file of prices: the column {name!r} is not of numbers.")
    odd = ~table["status"].isin(STATUSES)
    if odd.any():
        allowed = ", ".join(map(repr, STATUSES))
        row, value = int(odd.to_numpy().argmax()) + 1, table["status"][odd].iloc[0]
        raise ModelFileError(f"{path}: not a file of prices: row {row}: status {value!r}; allowed: {allowed}.")
    # Which of them nobody gave is there only where some are predicted.
    return {str(name): table[name].tolist() for name in table if name in (*_PRICES, "predicted")}


def _load(
    cls: type[Model], path: str | PathLike[str], trusted: list[str] | None
) -> tuple[Model, dict[str, tuple[str, str]]]:
    """Return the model, and the versions of fairwise and scikit-learn that differ from those that saved it."""
    try:
        data = _unpacked(path)
        allowed = _allowed_types(path, data, trusted or [])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # ours says it once, and not for every part
            document = skops.io.loads(data, trusted=allowed)
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path}: a folder, not a fairwise model file.") from None
    except ModelFileError:
        raise
    except Exception as error:  # a file from elsewhere can fail in any way inside skops
        raise ModelFileError(f"{path}: not a fairwise model file ({error}).") from error
    if not isinstance(document, dict) or "fairwise_model" not in document:
        raise ModelFileError(f"{path}: a skops file, but not a fairwise model.")
    if document["fairwise_model"] != _FORMAT:
        raise ModelFileError(
            f"{path}: written in format {document['fairwise_model']}, this version reads format {_FORMAT}. "
            "Use the version of fairwise that wrote it."
        )
    _require_kind(cls, document, path)
    try:
        return _rebuild(cls, document), _other_versions(document)
    except Exception as error:  # what is inside may be of any type where another is needed
        reason = str(error) if isinstance(error, ValueError) else repr(error)
        raise ModelFileError(f"{path}: a fairwise model, but damaged or changed ({reason}).") from error


def _allowed_types(path: str | PathLike[str], data: bytes, trusted: list[str]) -> list[str]:
    """Return the types that the file may hold; refuse it if it names others, before any object of it is made."""
    kind, scikit_learn = _kind_and_types(data)
    allowed = sorted({*trusted_types(kind), *trusted})
    unknown = set(skops.io.get_untrusted_types(data=data)) - set(allowed)
    if kind in ("linear", "tree"):  # these are arrays and plain values
        unknown |= scikit_learn - set(trusted)
    if unknown:
        raise ModelFileError(
            f"{path}: refused, because opening it would run code of types that are not known to be safe: "
            f"{', '.join(sorted(unknown))}. If you trust the file's author, name them: load(path, trusted=[…])."
        )
    return allowed


def _require_kind(cls: type[Model], document: Document, path: str | PathLike[str]) -> None:
    """Labels are for the one class, amounts for the other."""
    wanted = PairwiseFairClassifier if document.get("amounts") is None else PairwiseFairRegressor
    if not issubclass(cls, wanted):
        what = "labels" if wanted is PairwiseFairClassifier else "amounts"
        raise ModelKindError(f"{path}: a model of {what}; open it with {wanted.__name__}.load.")


def _other_versions(document: Document) -> dict[str, tuple[str, str]]:
    here = {"fairwise": _VERSION}
    if document["kind"] == "scikit-learn":  # our own classifiers are nothing to it
        here["scikit-learn"] = sklearn_version
    saved = {"fairwise": document.get("fairwise_version"), "scikit-learn": document.get("sklearn_version")}
    return {name: (str(saved[name]), own) for name, own in here.items() if saved[name] not in {None, own}}


def _document(whole: PairwiseFairClassifier | PairwiseFairRegressor) -> Document:
    """The settings of the whole model; the rest, of a model of amounts, of the classifier inside."""
    model = whole._model if isinstance(whole, PairwiseFairRegressor) else whole
    classifiers = model.classifiers_
    state = classifiers.state()
    derandomization = getattr(model, "derandomization_", None)
    simplification = getattr(model, "simplification_", None)
    settings = whole.get_params(deep=False)
    if isinstance(settings["loss"], pd.DataFrame):
        settings["loss"] = settings["loss"].to_dict("index")
    if settings["features"] is not None:
        settings["features"] = pd.Index(list(settings["features"])).tolist()  # whatever it was given as
    return {
        "fairwise_model": _FORMAT,
        "fairwise_version": _VERSION,
        "sklearn_version": sklearn_version,
        "settings": settings | {name: _as_pairs(settings[name]) for name in _OF_OWN_KEYS if name in settings},
        "classes": model.classes_.tolist(),
        "n_features": model.n_features_in_,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "features": model.features_,
        "encoder": None if model._encoder is None else model._encoder.state(),
        "column_kinds": model._column_kinds,
        "kind": next(name for name, known in _KINDS.items() if type(classifiers) is known),
        "classifiers": state | pack(state["members"]) if isinstance(classifiers, FittedClassifiers) else state,
        "weights": model.weights_,
        "threshold": model._threshold,
        "seed": model._seed,
        "certificate": model.certificate_.to_json(),
        "derandomization": None if derandomization is None else derandomization.without_judges().to_json(),
        "simplification": None if simplification is None else simplification.to_json(),
        "trajectory": model._trajectory,
        "group_rules": model._group_rules,
        "amounts": amounts_part(whole) if isinstance(whole, PairwiseFairRegressor) else None,
    }


def _write(document: Document, path: Path, cls: type[PairwiseFairClassifier | PairwiseFairRegressor]) -> set[str]:
    """Write the file, and open it again; returns the types that whoever loads it must trust."""
    try:
        skops.io.dump(document, path, compression=_COMPRESSION, compresslevel=9)
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


def _unpacked(path: str | PathLike[str]) -> bytes:
    """The same archive with nothing packed, so that whoever reads it gets no more than its entries say of themselves.

    Python unpacks an entry that is read at once as far as it goes, and looks at its size only then. Piece by piece it
    stops there, but only of what is packed by deflate.
    """
    unpacked = BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(unpacked, "w") as copy:
        if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
            raise ModelFileError(f"{path}: more than {_MOST_BYTES >> 30} GiB when unpacked; not a fairwise model.")
        if any(entry.compress_type not in {zipfile.ZIP_STORED, _COMPRESSION} for entry in archive.infolist()):
            raise ModelFileError(f"{path}: packed in another way than by deflate; not a fairwise model.")
        for entry in {entry.filename: entry for entry in archive.infolist()}.values():
            with archive.open(entry) as source, copy.open(entry.filename, "w") as target:
                copyfileobj(source, target)
    return unpacked.getvalue()


def _kind_and_types(data: bytes) -> tuple[str, set[str]]:
    """Return the kind of model that a file says it holds, and the names of the scikit-learn types in it."""
    types = set()

    def note_type(node: dict[str, Any]) -> dict[str, Any]:
        if str(node.get("__module__")).partition(".")[0] == "sklearn":
            types.add(f"{node['__module__']}.{node.get('__class__')}")
        return node

    with zipfile.ZipFile(BytesIO(data)) as archive:
        schema = json.loads(archive.read("schema.json"), object_hook=note_type)
    try:
        return str(json.loads(schema["content"]["kind"]["content"])), types
    except (AttributeError, KeyError, TypeError, ValueError):  # not a model
        return "", types


def _rebuild(cls: type[Model], document: Document) -> Model:
    settings = document["settings"]
    model = cls(**settings | {name: _from_pairs(settings[name]) for name in _OF_OWN_KEYS if name in settings})
    if isinstance(model, PairwiseFairRegressor):
        return fill(model, _fill(model.as_classifier(), document), document["amounts"])
    if isinstance(model.loss, dict):
        model.loss = pd.DataFrame.from_dict(model.loss, orient="index")
    return _fill(model, document)


def _fill(model: Classifier, document: Document) -> Classifier:
    """A classifier with everything but its settings."""
    model.classes_ = np.array(document["classes"])
    model.n_features_in_ = document["n_features"]
    if document["feature_names"]:
        model.feature_names_in_ = np.array(document["feature_names"], dtype=object)
    model.features_ = document["features"]
    model._encoder = None if document["encoder"] is None else TableEncoder.from_state(document["encoder"])
    model._column_kinds = document["column_kinds"]
    model._mixture = Mixture(
        _classifiers(document["kind"], document["classifiers"]), document["weights"], len(document["classes"])
    )
    model._threshold = document["threshold"]
    model._seed = document["seed"]
    model.certificate_ = Certificate.from_json(document["certificate"])
    if document["derandomization"] is not None:
        model.derandomization_ = Derandomization.from_json(document["derandomization"])
    if document["simplification"] is not None:
        model.simplification_ = Simplification.from_json(document["simplification"])
    model._prices = None
    model._trajectory = document["trajectory"]
    model._group_rules = document["group_rules"]
    model._training = None
    check_document(document, model.features_, model._encoder, model._mixture)
    return model


def _classifiers(kind: str, state: Document) -> Classifiers:
    """The classifiers of a mixture; their arrays must be of the types that are written."""
    for name, types in _TYPES[kind].items():
        if not (isinstance(state[name], np.ndarray) and state[name].dtype.kind in types):
            raise ValueError(f"the classifiers' {name} is no array of numbers")
    if kind == "scikit-learn":
        return FittedClassifiers(
            members_of(state["members"], state["transformers"], state["uses"]), state["thresholds"]
        )
    return _KINDS[kind](**state)
