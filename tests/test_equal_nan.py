"""A result equals its copy although some of its numbers are unknown, and nothing else."""

from __future__ import annotations

import math
import pickle
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replication.measures import Correlation

from fairwise.auditing.frontier import ChosenPoint
from fairwise.judgments.agreement import Agreement
from fairwise.judgments.reliability import Share
from fairwise.numbers import EqualNan
from fairwise.results.certificate import Certificate


@pytest.mark.parametrize("kind", [Agreement, Certificate, ChosenPoint, Correlation, Share])
@given(data=st.data())
def test_a_copy_is_equal_and_any_other_value_is_not(kind: type[Any], data: st.DataObject) -> None:
    result = data.draw(st.builds(kind))
    unknown = data.draw(
        st.sets(st.sampled_from([field.name for field in fields(kind) if field.type in (float, "float")]))
    )
    result = replace(result, **dict.fromkeys(unknown, math.nan))
    copy = replace(pickle.loads(pickle.dumps(result)), **{name: float("nan") for name in unknown})
    assert result == copy
    assert hash(result) == hash(copy)
    for field in fields(kind):
        assert result != replace(result, **{field.name: "another value"})


def test_another_kind_is_another_result() -> None:
    class Other(Share):
        pass

    values = (0, 0, math.nan, math.nan, math.nan, 0.95)
    assert Share(*values) == Share(*values)
    assert Share(*values) != Other(*values)
    assert Share(*values) != values
    assert isinstance(Share(*values), EqualNan)
