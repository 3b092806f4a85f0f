"""Models in MLflow, as its ``pyfunc`` models: our own ``.skops`` file and the name of this module, nothing pickled.

MLflow is not among Fairwise's extras: install ``mlflow`` or ``mlflow-skinny`` beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from fairwise.errors import MissingExtraError
from fairwise.learning.estimator import PairwiseFairClassifier

try:
    import mlflow.pyfunc
except ModuleNotFoundError as error:
    raise MissingExtraError(
        "A model in MLflow needs mlflow, which no extra of Fairwise brings: pip install mlflow"
    ) from error


def save_model(model: PairwiseFairClassifier, path: str | PathLike[str], **options: Any) -> None:
    """Write a model to a folder that ``mlflow.pyfunc.load_model`` opens; ``options`` are MLflow's.

    What it opens has ``predict(people)``, which returns the probability of each label, a row for each person.
    """
    with _flavour(model, options) as flavour:
        mlflow.pyfunc.save_model(path, **flavour)


def log_model(model: PairwiseFairClassifier, name: str = "model", **options: Any) -> Any:
    """Log a model to the active run under this name; returns MLflow's ``ModelInfo``. ``options`` are MLflow's."""
    with _flavour(model, options) as flavour:
        return mlflow.pyfunc.log_model(name=name, **flavour)


@contextmanager
def _flavour(model: PairwiseFairClassifier, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Model description for MLflow: loader, file and required packages."""
    needed = [f"{package}=={version(package)}" for package in ("fairwise", "scikit-learn")]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.skops"
        model.save(file)
        yield {"pip_requirements": needed} | options | {"loader_module": __name__, "data_path": str(file)}


class _Probabilities:
    """A loaded model, as MLflow asks it."""

    def __init__(self, model: PairwiseFairClassifier) -> None:
        self._model = model

    def predict(self, people: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:  # noqa: ARG002
        """Probability of each label, by person."""
        table = self._model.predict_proba(people)
        return pd.DataFrame(table, index=getattr(people, "index", None), columns=self._model.classes_.tolist())


def _load_pyfunc(path: str) -> _Probabilities:
    """The function that MLflow looks for in the module of a model."""
    return _Probabilities(PairwiseFairClassifier.load(path))
