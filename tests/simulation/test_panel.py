from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.datasets import load_compas
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.simulation import KINDS, Respondent, Roles, draw_pairs, draw_respondents, simulate_panel

DEMOGRAPHICS = ["sex", "age", "race"]


@pytest.fixture(scope="module")
def compas() -> pd.DataFrame:
    people, _ = load_compas()
    return people


@pytest.fixture
def other() -> pd.DataFrame:
    """People of another kind: no column of COMPAS, missing values, truth values, dates."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "amount": rng.normal(1000, 300, 60),
            "months": np.where(rng.random(60) < 0.1, np.nan, rng.integers(6, 60, 60)),
            "purpose": rng.choice(np.array(["car", "house", None], dtype=object), 60),
            "foreign": rng.random(60) < 0.3,
            "since": pd.to_datetime(rng.integers(0, 10, 60), unit="D"),
        },
        index=[f"p{i}" for i in range(60)],
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_panel_is_like_the_studys(compas: pd.DataFrame, seed: int) -> None:
    panel = simulate_panel(compas, seed=seed)
    counts = panel.counts()
    assert counts.shape == (43, 4)
    assert (counts.sum(axis=1) == 50).all()
    assert not panel.has_ordered
    same = counts["same"]
    assert same.sum() == pytest.approx(1432, rel=0.05)
    assert same.min() <= 5
    assert same.max() == 50
    assert same.between(14, 18).sum() >= 3
    assert same.std() > 12


def test_the_same_seed_gives_the_same_panel(compas: pd.DataFrame) -> None:
    for answers in ("two", "four"):
        once, again, other = (simulate_panel(compas, 5, 10, answers=answers, seed=s).frame for s in (1, 1, 2))
        pd.testing.assert_frame_equal(once, again)
        assert not once.equals(other)


def test_with_four_answers_all_are_used(compas: pd.DataFrame) -> None:
    panel = simulate_panel(compas, answers="four")
    assert (panel.counts().sum() > 50).all()


def test_judges_cannot_be_mistaken_for_real_ones(compas: pd.DataFrame) -> None:
    assert simulate_panel(compas, 3, 2).judges == ["simulated-01", "simulated-02", "simulated-03"]
    assert all(r.describe().startswith("simulated-") for r in draw_respondents(compas, 120))


def test_judges_see_different_pairs_and_no_twins(compas: pd.DataFrame) -> None:
    rows = simulate_panel(compas, 20, 100).counted()
    records = [compas.loc[rows[side]].reset_index(drop=True) for side in ("a", "b")]
    assert (records[0] != records[1]).any(axis=1).all()
    shown = [frozenset(pair) for pair in rows[["a", "b"]].itertuples(index=False)]
    assert len(set(shown)) > 0.99 * len(shown)


def test_few_people_can_be_paired_exhaustively() -> None:
    people = pd.DataFrame({"x": [0, 0, 1, 2]}, index=list("stuv"))
    every = {frozenset(pair) for pair in combinations("stuv", 2)} - {frozenset("st")}
    (drawn,) = draw_pairs(people, 1, 5)
    assert {frozenset(pair) for pair in drawn} == every
    with pytest.raises(InputError, match="6 pairs wanted, but only 5 pairs of different records exist"):
        draw_pairs(people, 1, 6)


def test_pairs_are_uniform_and_so_are_the_sides() -> None:
    for n in (4, 1200):
        people = pd.DataFrame({"x": range(n)})
        left = np.array([pair[0] for pairs in draw_pairs(people, 600, 3) for pair in pairs])
        right = np.array([pair[1] for pairs in draw_pairs(people, 600, 3) for pair in pairs])
        for side in (left, right):
            assert side.mean() == pytest.approx((n - 1) / 2, rel=0.06)


@pytest.mark.parametrize("kind", ["ignores-demographics", "discounts-minorities", "ignores-record"])
def test_what_a_kind_ignores_has_no_influence(compas: pd.DataFrame, kind: str) -> None:
    ignored = {
        "ignores-demographics": DEMOGRAPHICS,
        "discounts-minorities": ["sex", "age"],
        "ignores-record": [name for name in compas.columns if name not in DEMOGRAPHICS],
    }[kind]
    few = compas.iloc[:400]
    shuffled = few.copy()
    shuffled[ignored] = few[ignored].sample(frac=1, random_state=0).to_numpy()
    relevant = few.copy()
    rest = [name for name in compas.columns if name not in ignored]
    relevant[rest] = few[rest].sample(frac=1, random_state=0).to_numpy()
    (pairs,) = draw_pairs(few, 1, 300)
    for respondent in draw_respondents(compas, 6, kinds=[kind]):
        before, same, different = (
            respondent.answers(people, pairs, np.random.default_rng(0)) for people in (few, shuffled, relevant)
        )
        assert before == same
        assert before != different


def test_a_shorter_record_is_never_worse(compas: pd.DataFrame) -> None:
    person = compas.iloc[[0]]
    shorter, longer = person.assign(priors_count=0), person.assign(priors_count=30)
    said = {
        str(respondent.opinions(shorter, longer)[0])
        for respondent in draw_respondents(compas, 20, kinds=["ignores-demographics", "weighs-everything"])
    }
    assert said == {"same", "a_at_least_b"}


def test_who_discounts_minorities_records_says_so_and_does_so(compas: pd.DataFrame) -> None:
    respondents = draw_respondents(compas, 8, kinds=["discounts-minorities"])
    few = compas.iloc[:300].assign(priors_count=lambda t: t["priors_count"] * 2)
    (pairs,) = draw_pairs(few, 1, 400)
    for respondent in respondents:
        assert "where race is not Caucasian" in respondent.describe()
        everyone = {
            race: respondent.answers(few.assign(race=race), pairs, np.random.default_rng(0))
            for race in ("Caucasian", "Hispanic", "Asian")
        }
        assert everyone["Hispanic"] == everyone["Asian"]
        assert everyone["Hispanic"].count(Answer.SAME) >= everyone["Caucasian"].count(Answer.SAME)
    assert any(
        respondent.answers(few.assign(race="Caucasian"), pairs, np.random.default_rng(0))
        != respondent.answers(few.assign(race="Asian"), pairs, np.random.default_rng(0))
        for respondent in respondents
    )


def test_the_kinds_at_both_ends(compas: pd.DataFrame) -> None:
    ends = draw_respondents(compas, 3, kinds=["all-same", "strict", "anything-goes"])
    same = simulate_panel(compas, n_pairs=200, respondents=ends).counts()["same"].tolist()
    assert same[0] == 200
    assert same[1] < 50
    assert same[2] < 25


def test_every_kind_is_in_the_default_panel(compas: pd.DataFrame) -> None:
    assert {respondent.kind for respondent in draw_respondents(compas)} == set(KINDS)


def cycles(respondent: Respondent, people: pd.DataFrame) -> float:
    """Return how many triples are put in a circle: A before B before C before A."""
    n = len(people)
    left, right = (people.iloc[side.ravel()].reset_index(drop=True) for side in np.indices((n, n)))
    before = (respondent.opinions(left, right) == "a_at_least_b").reshape(n, n).astype(float)
    return float(np.trace(before @ before @ before) / 3)


def test_only_who_lets_the_first_difference_decide_goes_in_circles(compas: pd.DataFrame) -> None:
    first, merit = (
        [cycles(respondent, compas.iloc[:200]) for respondent in draw_respondents(compas, 6, kinds=[kind])]
        for kind in ("first-difference", "weighs-everything")
    )
    assert sum(count > 0 for count in first) >= 3
    assert sum(merit) == 0


def test_any_table_will_do(other: pd.DataFrame) -> None:
    respondents = draw_respondents(other, 20)
    assert "discounts-minorities" not in {respondent.kind for respondent in respondents}
    panel = simulate_panel(other, n_pairs=40, answers="four", respondents=respondents)
    assert panel.n_judges == 20
    assert set(panel.counted()["answer"]) == set(Answer)


def test_roles_can_be_given(other: pd.DataFrame) -> None:
    roles = Roles(demographics=("foreign",), majority={"foreign": False}, category_points={"purpose": {"house": 1.0}})
    discounting, ignoring = draw_respondents(
        other, 2, kinds=["discounts-minorities", "ignores-demographics"], roles=roles
    )
    assert "where foreign is not False" in discounting.describe()
    assert ignoring.closeness.weights["foreign"] == 0
    assert discounting.answers(other, [("p0", "p1")], np.random.default_rng(0))


def test_pairs_can_be_given(compas: pd.DataFrame) -> None:
    pairs = list(zip(compas.index[:4], compas.index[4:8], strict=True))
    panel = simulate_panel(compas, 3, pairs=pairs)
    assert set(panel.frame["design"]) == {"fixed"}
    for judge in panel.judges:
        rows = panel.select([judge]).frame
        assert list(zip(rows["a"], rows["b"], strict=True)) == pairs
    own = simulate_panel(compas, 2, pairs={"simulated-01": pairs[:1], "simulated-02": pairs[1:]})
    assert own.frame["judge"].value_counts().to_dict() == {"simulated-01": 1, "simulated-02": 3}


def test_the_judgments_carry_their_people(compas: pd.DataFrame) -> None:
    panel = simulate_panel(compas, 2, 5)
    rows = panel.people_rows(panel.person_ids())
    assert isinstance(rows, pd.DataFrame)
    pd.testing.assert_frame_equal(rows, compas.loc[panel.person_ids()], check_names=False)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"answers": "five"}, "answers='five'; allowed: 'two' or 'four'"),
        ({"n_judges": 0}, "a panel of 0"),
        ({"n_pairs": 0}, "n_pairs=0"),
        ({"n_pairs": 10_000}, "10000 pairs wanted, but only"),
        ({"pairs": {"simulated-01": []}, "n_judges": 2}, "pairs: none for simulated-02"),
        ({"roles": Roles(record=("height",))}, "no column height"),
    ],
)
def test_what_cannot_be_a_panel_is_refused(other: pd.DataFrame, options: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate_panel(other, **options)
    assert part in str(caught.value)


def test_bad_people_and_kinds_are_refused(other: pd.DataFrame) -> None:
    bad_people: list[tuple[Any, str]] = [
        (other.to_numpy(), "a DataFrame with ids in its index is needed, not ndarray"),
        (pd.concat([other, other]), "without repeated ids"),
        (other.iloc[:1], "only 0 pairs"),
    ]
    for people, part in bad_people:
        with pytest.raises(InputError, match=part):
            simulate_panel(people)
    for kinds, part in [
        (["kind"], "'kind' is not one; allowed: ignores-demographics"),
        (["ignores-record"], "needs columns that people does not have"),
        ([], "none given"),
    ]:
        with pytest.raises(InputError, match=part):
            draw_respondents(other, kinds=kinds)
    (respondent,) = draw_respondents(other, 1)
    with pytest.raises(InputError, match="each needs a name of their own"):
        simulate_panel(other, respondents=[respondent, respondent])
