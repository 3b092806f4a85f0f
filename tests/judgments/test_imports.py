"""Judgments are light: what only the measures need is loaded with them."""

import subprocess
import sys

import pytest

import fairwise
import fairwise.judgments


def test_importing_judgments_loads_neither_scipy_nor_scikit_learn() -> None:
    code = "import sys, fairwise.judgments; print([name for name in ('scipy', 'sklearn') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    for name in fairwise.judgments.__all__:
        assert getattr(fairwise.judgments, name).__name__ == name
    assert dir(fairwise.judgments) == fairwise.judgments.__all__
    assert dir(fairwise) == fairwise.__all__
    with pytest.raises(AttributeError, match=r"module 'fairwise\.judgments' has no attribute 'verdicts'"):
        _ = fairwise.judgments.verdicts
