"""Importing is fast because nothing heavy comes along; each case in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import fairwise

HEAVY = ("numba", "highspy", "skops", "starlette", "jinja2", "matplotlib", "dask", "pystreed", "uvicorn")


def loaded(statement: str) -> set[str]:
    """Top-level modules in a fresh interpreter after this statement."""
    report = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", f"{statement}; {report}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_package_brings_nothing_heavy() -> None:
    assert loaded("import fairwise").isdisjoint({*HEAVY, "sklearn", "pandas", "scipy", "numpy"})


def test_importing_names_and_choosing_settings_brings_no_compiler_solver_or_web() -> None:
    names = "from fairwise import PairwiseFairClassifier, Judgments, promise, Answer"
    statement = f"{names}; model = PairwiseFairClassifier(); repr(model); model.get_params()"
    assert loaded(statement).isdisjoint(HEAVY)


def test_every_public_name_is_there() -> None:
    for name in fairwise.__all__:
        assert getattr(fairwise, name) is not None
        assert name in dir(fairwise)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'fairwise' has no attribute 'unfairwise'"):
        fairwise.unfairwise  # noqa: B018
