"""Keys: unguessable, bound to what they are for, and the same only where they must be."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.study.recruitment import Keys

KEYS, OTHERS = Keys(b"s" * 32), Keys(b"t" * 32)
subjects = st.text(max_size=60)


def test_new_keys_have_enough_bits_and_never_repeat() -> None:
    many = {KEYS.new() for _ in range(1000)}
    assert len(many) == 1000
    assert all(len(key) == 24 for key in many)


@given(one=subjects, other=subjects)
def test_a_token_follows_from_its_form_and_the_secret_alone(one: str, other: str) -> None:
    assert KEYS.token(one) == KEYS.token(one)
    assert (KEYS.token(one) == KEYS.token(other)) == (one == other)
    assert KEYS.token(one) != OTHERS.token(one)


@given(subject=subjects, other=subjects)
def test_a_form_is_for_one_subject(subject: str, other: str) -> None:
    signature = KEYS.form(subject)
    assert KEYS.is_form(subject, signature)
    assert KEYS.is_form(other, signature) == (subject == other)
    assert not OTHERS.is_form(subject, signature)
    assert not KEYS.is_form(subject, signature + "x")
    assert not KEYS.is_form(subject, "")


def test_time_is_measured_in_milliseconds_and_only_for_its_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = KEYS.time("pair")
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 2_345_000_000)
    assert KEYS.seconds_since("pair", stamp) == pytest.approx(2.345, abs=0.1)
    for refused in (
        KEYS.seconds_since("another", stamp),
        OTHERS.seconds_since("pair", stamp),
        KEYS.seconds_since("pair", stamp[:-1]),
        KEYS.seconds_since("pair", ""),
        KEYS.seconds_since("pair", "0 pair"),
    ):
        assert refused is None
    monkeypatch.setattr(time, "time_ns", lambda: now - 10**12)
    assert KEYS.seconds_since("pair", stamp) == 0.0  # a clock that was set back


def test_receipts_tell_answers_and_studies_apart() -> None:
    receipt = KEYS.receipt(["study", 1, "1 same"])
    assert receipt == KEYS.receipt(["study", 1, "1 same"])
    assert len({receipt, KEYS.receipt(["study", 1, "1 no_constraint"]), OTHERS.receipt(["study", 1, "1 same"])}) == 3
