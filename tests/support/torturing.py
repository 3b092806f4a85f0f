"""Torture cases: what to do, and what must come of it, written down beforehand; run twice, and on 1 and 2 threads."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import joblib
import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fairwise.errors import FairwiseError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Refused:
    """An error of our own whose message has these words (a regular expression)."""

    words: str


@dataclass(frozen=True)
class Refusal:
    """The message that came."""

    message: str


@dataclass(frozen=True)
class Case:
    """``expected``: a :class:`Refused`, a check that is called with the result, or the numbers themselves."""

    name: str
    run: Callable[[], Any]
    expected: Any
    slow: bool = False


def parametrised(cases: list[Case]) -> pytest.MarkDecorator:
    """One test for each case, under its name."""
    each = [pytest.param(case, id=case.name, marks=pytest.mark.slow if case.slow else ()) for case in cases]
    return pytest.mark.parametrize("case", each)


def come_of(case: Case) -> Any:
    """The result, or how it was refused; any other error is a failure of the case. Seeing is free of warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "One label for everyone")  # rules as tight as these leave little else
        warnings.filterwarnings("ignore", "judgments holds no answer")
        warnings.filterwarnings("ignore", "A limit is exceeded")  # a few rounds of a game keep no limit exactly
        try:
            return case.run()
        except FairwiseError as error:
            return Refusal(str(error))


def hold_to_what_is_expected(case: Case) -> None:
    """The result is the expected one."""
    result = come_of(case)
    if isinstance(case.expected, Refused):
        assert isinstance(result, Refusal), f"not refused, but {result}"
        assert re.search(case.expected.words, result.message), result.message
    else:
        assert not isinstance(result, Refusal), result
        if callable(case.expected):
            case.expected(result)
        else:
            np.testing.assert_allclose(result, case.expected, rtol=1e-9, atol=1e-7, equal_nan=True)


def hold_when_done_again(case: Case) -> None:
    """The same to the last bit."""
    assert joblib.hash(come_of(case)) == joblib.hash(come_of(case))


def hold_on_one_and_two_threads(case: Case) -> None:
    """The same to the last bit."""
    results = []
    before = numba.get_num_threads()
    for threads in (1, 2):
        numba.set_num_threads(min(threads, before))
        try:
            with threadpool_limits(threads):
                results.append(come_of(case))
        finally:
            numba.set_num_threads(before)
    assert joblib.hash(results[0]) == joblib.hash(results[1])
