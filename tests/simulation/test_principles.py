"""The sample study's panel: stated principles in their portions, which sex, race and age say nothing to."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fairwise.judgments import Answer
from fairwise.judgments.agreement import krippendorff_alpha
from fairwise.simulation import PRINCIPLES, draw_panel, simulate_panel
from fairwise.study.new_study import sample_people


def test_everyone_holds_a_principle_in_its_portion() -> None:
    panel = draw_panel(43, seed=1)
    counts = Counter(respondent.kind for respondent in panel)
    assert sum(principle.portion for principle in PRINCIPLES.values()) == pytest.approx(1)
    for kind, principle in PRINCIPLES.items():
        assert counts[kind] == pytest.approx(43 * principle.portion, abs=1)
    assert draw_panel(43, seed=1) == panel != draw_panel(43, seed=2)
    assert {respondent.name[:10] for respondent in draw_panel(3)} == {"simulated-"}


def test_sex_race_and_age_are_no_reason() -> None:
    people, _ = sample_people()
    rng = np.random.default_rng(0)
    left, right = people.sample(400, random_state=1), people.sample(400, random_state=2)
    others = left.assign(**{name: rng.permutation(left[name]) for name in ("sex", "race", "age")})
    for respondent in draw_panel():
        assert (respondent.opinions(left, right) == respondent.opinions(others, right)).all()


def test_the_worse_record_is_never_put_before_the_better() -> None:
    people, _ = sample_people()
    better = people.sample(300, random_state=3)
    worse = better.assign(priors_count=better["priors_count"] + 9, c_charge_degree="felony")
    for respondent in draw_panel():
        assert not (respondent.opinions(worse, better) == Answer.A_AT_LEAST_B).any()


def test_they_agree_in_part() -> None:
    people, _ = sample_people()
    pairs = [tuple(people.sample(2, random_state=number).index) for number in range(40)]
    judgments = simulate_panel(people, answers="four", respondents=draw_panel(), pairs=pairs)
    assert 0.3 < krippendorff_alpha(judgments).alpha < 0.8
