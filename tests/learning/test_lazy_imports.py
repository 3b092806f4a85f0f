"""Importing is fast because nothing heavy comes along; each case in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import fairwise
from fairwise.learning.settings import ESTIMATORS

HEAVY = ("numba", "highspy", "skops", "starlette", "jinja2", "matplotlib", "dask", "uvicorn")
MODELS = ("sklearn.linear_model", "sklearn.model_selection", "sklearn.pipeline", "sklearn.tree")


def loaded(statement: str) -> set[str]:
    """Modules in a fresh interpreter after this statement."""
    report = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"{statement}; {report}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_package_brings_nothing_heavy() -> None:
    assert loaded("import fairwise").isdisjoint({*HEAVY, "sklearn", "pandas", "scipy", "numpy"})


def test_importing_names_and_choosing_settings_brings_no_compiler_solver_or_web() -> None:
    names = "from fairwise import PairwiseFairClassifier, Judgments, promise, Answer"
    statement = f"{names}; model = PairwiseFairClassifier(); repr(model); model.get_params()"
    assert loaded(statement).isdisjoint({*HEAVY, *MODELS})


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fit_brings_none_of_the_models_that_it_does_not_use(estimator: str) -> None:
    judged = "Judgments([{'judge': 'j', 'a': 0, 'b': 3, 'answer': 'same'}], people=people, by='position')"
    statement = (
        "import numpy as np; from fairwise import Judgments, PairwiseFairClassifier; people = np.arange(4.0)[:, None]; "
        f"PairwiseFairClassifier({estimator!r}, max_depth=1).fit(people, [0, 0, 1, 1], judgments={judged})"
    )
    assert loaded(statement).isdisjoint(MODELS)


def test_every_public_name_is_there() -> None:
    for name in fairwise.__all__:
        assert getattr(fairwise, name) is not None
        assert name in dir(fairwise)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'fairwise' has no attribute 'unfairwise'"):
        fairwise.unfairwise  # noqa: B018
