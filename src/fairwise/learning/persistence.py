"""Models as files: plain arrays in a skops archive, never pickle."""

from __future__ import annotations

import os
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import skops.io

from fairwise.errors import ModelFileError
from fairwise.learning.certificate import Certificate
from fairwise.learning.derandomization import Derandomization
from fairwise.learning.encoding import TableEncoder
from fairwise.learning.mixture import Mixture
from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.learning.oracles.weighted import FittedClassifiers

if TYPE_CHECKING:
    from os import PathLike

    from fairwise.learning.estimator import PairwiseFairClassifier

    Model = TypeVar("Model", bound=PairwiseFairClassifier)

_FORMAT = 1
_MOST_BYTES = 1 << 30  # unpacked; a model of thousands of trees has a hundredth of it
# Compiled parts of scikit-learn's own models, which skops leaves to the reader to trust.
_SCIKIT_LEARN = (
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
)
# Rules for groups are settings, and plain numbers inside.
_FAIRLEARN = tuple(
    f"fairlearn.reductions._moments.utility_parity.{name}"
    for name in (
        "DemographicParity",
        "EqualizedOdds",
        "ErrorRateParity",
        "FalsePositiveRateParity",
        "TruePositiveRateParity",
    )
)
_KINDS: dict[str, Any] = {
    "linear": LinearClassifiers,
    "tree": TreeClassifiers,
    "scikit-learn": FittedClassifiers,
}


def save(model: PairwiseFairClassifier, path: str | PathLike[str]) -> None:
    """Write what prediction needs and what the fit said about itself; the file appears whole or not at all."""
    classifiers = model.classifiers_
    kind = next(name for name, known in _KINDS.items() if isinstance(classifiers, known))
    derandomization = getattr(model, "derandomization_", None)
    document = {
        "fairwise_model": _FORMAT,
        "settings": model.get_params(deep=False),
        "classes": model.classes_.tolist(),
        "n_features": model.n_features_in_,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "encoder": None if model._encoder is None else model._encoder.state(),
        "kind": kind,
        "classifiers": classifiers.state(),
        "weights": model.weights_,
        "threshold": model._threshold,
        "seed": model._seed,
        "certificate": asdict(model.certificate_),
        "derandomization": None if derandomization is None else asdict(derandomization),
        "prices": model._prices,
        "trajectory": model._trajectory,
        "group_rules": model._group_rules,
    }
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        skops.io.dump(document, unfinished)
        unfinished.replace(target)
    except OSError as error:
        raise ModelFileError(f"{path}: the model could not be written ({error.strerror or error}).") from error
    finally:
        unfinished.unlink(missing_ok=True)


def load(cls: type[Model], path: str | PathLike[str], trusted: list[str] | None = None) -> Model:
    """Read a model file; refuse anything else, and types that are neither plain, scikit-learn's nor ``trusted``."""
    allowed = [*_SCIKIT_LEARN, *_FAIRLEARN, *(trusted or [])]
    try:
        _refuse_bombs(path)
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
        return _rebuilt(cls, document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path}: a fairwise model, but damaged or changed ({error!r}).") from error


def _refuse_bombs(path: str | PathLike[str]) -> None:
    """A small file may unpack to any size; what it says of itself is all that is ever read of it."""
    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
            raise ModelFileError(f"{path}: more than {_MOST_BYTES >> 30} GiB when unpacked; not a fairwise model.")


def _rebuilt(cls: type[Model], document: dict[str, Any]) -> Model:
    model = cls(**document["settings"])
    model.classes_ = np.array(document["classes"])
    model.n_features_in_ = document["n_features"]
    if document["feature_names"]:
        model.feature_names_in_ = np.array(document["feature_names"], dtype=object)
    model._encoder = None if document["encoder"] is None else TableEncoder.from_state(document["encoder"])
    model._mixture = Mixture(_KINDS[document["kind"]](**document["classifiers"]), document["weights"])
    model._threshold = document["threshold"]
    model._seed = document["seed"]
    model.certificate_ = Certificate(**document["certificate"])
    derandomization = document["derandomization"]
    # Version 0.1 wrote fewer fields, with the mean violation of another average: better nothing is said than that.
    if derandomization is not None and set(derandomization) == set(Derandomization.__dataclass_fields__):
        model.derandomization_ = Derandomization(**derandomization)
    model._prices = document["prices"]
    model._trajectory = document["trajectory"]
    model._group_rules = document["group_rules"]
    model._training = None
    return model
