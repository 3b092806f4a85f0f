"""A printed difference is the difference of the printed numbers, to the last digit, whatever the numbers are."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest

from fairwise.numbers import counted, difference, digits_beside, in_100, rounded, setting, share_difference
from fairwise.reporting import words
from fairwise.reporting.words import ErrorWords
from fairwise.store.votes import Option
from fairwise.web.shared.views import options_of

TRIED = 20_000


@pytest.mark.parametrize("digits", [0, 1, 2, 3])
def test_printed_differences_are_those_of_printed_numbers(digits: int) -> None:
    rng = np.random.default_rng(digits)
    numbers = rng.uniform(-100, 100, (TRIED, 2))
    numbers[::3] = numbers[::3].round(digits + 1)  # halves of the last digit, too
    naive = 0
    for one, other in numbers.tolist():
        left, right = f"{one:.{digits}f}", f"{other:.{digits}f}"
        more = difference(one, other, digits)
        assert Decimal(left) - Decimal(right) == more
        assert not (more == 0 and str(more).startswith("-"))
        naive += Decimal(f"{one - other:.{digits}f}") != more
    assert naive > TRIED / 10, "printing the difference of the numbers themselves is often another number"


def test_the_same_for_shares_in_words() -> None:
    for one, other in np.random.default_rng(9).random((TRIED // 10, 2)).tolist():
        left, right = (
            Decimal(words.ENGLISH.percent(share).removesuffix("\N{NO-BREAK SPACE}%")) for share in (one, other)
        )
        assert share_difference(one, other) == left - right
        told = words.ENGLISH.points_above(one, other).replace("\N{MINUS SIGN}", "-").split(" percentage point")[0]
        assert Decimal(told) == left - right
        assert Decimal(words.ENGLISH.largest_difference([one, other, float("nan")])) == abs(left - right)
    assert words.ENGLISH.points_above(0.4013, 0.3286) == "7.2 percentage points"
    assert words.ENGLISH.largest_difference([]) == words.NOTHING


def test_one_number_is_printed_alike_everywhere() -> None:
    """Report, console, participants, votes and programs print one number of 100, and 0 or 100 only for these."""
    rng = np.random.default_rng(18)
    spoken = words.ENGLISH.language
    shares = [*rng.random(400), *(10.0 ** rng.uniform(-6, -2, 200)), *(1 - 10.0 ** rng.uniform(-6, -2, 200)), 0.0, 1.0]
    for share in map(float, shares):
        number = in_100(share)
        option = options_of([Option(0.0, share, round(1000 * share), 1000 - round(1000 * share))], spoken)[0]
        printed = [
            words.ENGLISH.in_100(share),
            words.ENGLISH.percent(share).split("\N{NO-BREAK SPACE}")[0],
            ErrorWords().short(share),
            spoken.in_100(share),
            spoken.short_in_100(share),
            option.wrong,
        ]
        assert {Decimal(text) for text in printed} == {number}
        assert (number == 0, number == 100) == (share == 0, share == 1)
        assert abs(number - Decimal(100 * share)) <= Decimal("0.0501")
    assert in_100(0.1 + 0.2 - 0.3) == 0, "what only the computer's rounding leaves is nothing"


def test_enough_digits_to_see_the_side() -> None:
    rng = np.random.default_rng(4)
    for limit in (0.0, 0.05, 50.0):
        for number in (limit + rng.choice([-1, 1], 2000) * 10.0 ** rng.uniform(-9, 1, 2000)).tolist():
            digits = digits_beside(number, limit, 1)
            printed = rounded(number, digits)
            assert (printed > Decimal(str(limit))) == (number > limit)
            assert (printed < Decimal(str(limit))) == (number < limit)
        assert digits_beside(limit, limit, 2) == 2


def test_counts_have_their_words_and_settings_no_needless_zeros() -> None:
    assert counted(5829) == "5,829"
    assert counted(5829, "person", "people") == "5,829 people"
    assert [counted(number, "judge") for number in (0, 1, 2)] == ["0 judges", "1 judge", "2 judges"]
    assert [setting(value) for value in (0.3, 0.0, None, float("nan"))] == ["0.3", "0", "none", "none"]


def test_a_number_of_a_record_is_written_as_it_is() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        number = float(rng.normal()) * 10.0 ** int(rng.integers(-9, 15))
        for value in (number, float(round(number)), round(number, 2)):
            text = words.ENGLISH.value(value)
            assert "e" not in text
            assert not re.search(r"\.\d*0$|^-0$", text)
            assert float(text) == pytest.approx(value, rel=1e-5)
            if abs(value) < 1e9 and value == round(value, 2):
                assert float(text) == value
