"""AnswerModel: sides do not matter, what was planted comes back, and bad input is answered in a sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import beta

from fairwise import AnswerModel, Judgments
from fairwise.errors import InputError, JudgmentsError
from fairwise.judgments import Answer
from fairwise.judgments.answer_model.choices import Choices, Normal, expected_probabilities, posterior, softmax
from fairwise.judgments.answer_model.encoding import AnswerRows, PeopleEncoder, Scale
from fairwise.judgments.answer_model.hierarchy import HeldOutAnswers, Lapses
from fairwise.simulation import draw_pairs, draw_respondents, simulate_panel

PEOPLE = pd.DataFrame(
    {
        "age": np.random.default_rng(0).integers(20, 70, 60),
        "priors": np.random.default_rng(1).poisson(2.0, 60),
        "town": np.random.default_rng(2).choice(["x", "y", "z"], 60),
    },
    index=[f"p{number}" for number in range(60)],
)
COLUMNS = [str(answer) for answer in Answer]
PRIORS = dict(zip(PEOPLE.index, PEOPLE["priors"].tolist(), strict=True))


def said_by_priors(judges: int = 12, pairs: int = 25, *, noise: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Judges who call two people the same whose priors are at most one apart; else fewer priors are ahead."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge in range(judges):
        for a, b in draw_pairs(PEOPLE, 1, pairs, seed=1000 * seed + judge)[0]:
            ahead = PRIORS[str(b)] - PRIORS[str(a)]
            answer = "same" if abs(ahead) <= 1 else "a_at_least_b" if ahead > 0 else "b_at_least_a"
            if rng.random() < noise:
                answer = str(rng.choice(COLUMNS))
            rows.append({"judge": f"simulated-{judge:02}", "a": a, "b": b, "answer": answer})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def said() -> Judgments:
    return Judgments(said_by_priors(), people=PEOPLE)


@pytest.fixture(scope="module")
def model(said: Judgments) -> AnswerModel:
    return AnswerModel(answers=COLUMNS).fit(said)


def some_pairs(judge: str = "simulated-03", n: int = 80) -> pd.DataFrame:
    drawn = draw_pairs(PEOPLE, 1, n, seed=77)[0]
    return pd.DataFrame([{"judge": judge, "a": a, "b": b} for a, b in drawn])


def test_changing_sides_exchanges_the_two_ordered_answers_exactly(model: AnswerModel) -> None:
    pairs = some_pairs()
    there = model.predict_proba(pairs)
    back = model.predict_proba(pairs.rename(columns={"a": "b", "b": "a"}))
    swapped = [str(Answer(name).swapped()) for name in COLUMNS]
    assert np.array_equal(there.to_numpy(), back[swapped].to_numpy())
    assert there.sum(axis=1).to_numpy() == pytest.approx(1)
    assert (there["a_at_least_b"] - there["b_at_least_a"]).abs().max() > 0.5


@pytest.mark.parametrize("judge", ["simulated-03", "somebody new"])
def test_what_was_planted_is_predicted_for_known_and_new_judges(model: AnswerModel, judge: str) -> None:
    pairs = some_pairs(judge)
    ahead = (PEOPLE.loc[pairs["b"], "priors"].to_numpy() - PEOPLE.loc[pairs["a"], "priors"].to_numpy()).astype(int)
    right = np.select([abs(ahead) <= 1, ahead > 0], ["same", "a_at_least_b"], "b_at_least_a")
    assert (model.predict_proba(pairs).idxmax(axis=1).to_numpy() == right).mean() > 0.85


def test_what_drives_answers_is_found(model: AnswerModel) -> None:
    drivers = model.drivers_.loc["simulated-03"]
    assert drivers["share"].idxmax() == "priors"
    assert drivers["share"].sum() == pytest.approx(1)
    assert drivers.loc["priors", "favours"] == "less"


def test_answers_that_never_occur_are_never_predicted(said: Judgments) -> None:
    model = AnswerModel().fit(said)
    assert not model.predict_proba(some_pairs())["no_constraint"].any()
    assert any("Nobody answered no_constraint" in note for note in model.notes_)
    assert any("No pair was asked twice" in note for note in model.notes_)


def test_two_answers_without_order() -> None:
    frame = said_by_priors()
    frame["answer"] = frame["answer"].where(frame["answer"] == "same", "no_constraint")
    predicted = AnswerModel().fit(Judgments(frame, people=PEOPLE)).predict_proba(some_pairs())
    assert not predicted[["a_at_least_b", "b_at_least_a"]].any(axis=None)
    assert predicted["same"].max() > 0.8
    assert predicted["same"].min() < 0.2


def test_a_judge_with_few_answers_is_taken_for_the_others(said: Judgments) -> None:
    few = said.frame[["judge", "a", "b", "answer"]].groupby("judge").head(25)
    few = pd.concat([few[few["judge"] != "simulated-00"], few[few["judge"] == "simulated-00"].head(2)])
    model = AnswerModel().fit(Judgments(few, people=PEOPLE))
    theirs, others = (model.predict_proba(some_pairs(judge)).to_numpy() for judge in ("simulated-00", "nobody"))
    assert np.abs(theirs - others).mean() < 0.1


def test_attributes_of_judges_explain_what_they_say() -> None:
    frame = said_by_priors(judges=16)
    strict = frame["judge"].isin([f"simulated-{number:02}" for number in range(8)])
    frame.loc[strict, "answer"] = frame.loc[strict, "answer"].replace(
        {"a_at_least_b": "b_at_least_a", "b_at_least_a": "a_at_least_b"}
    )
    kinds = {
        judge: {"relation": "affected" if judge < "simulated-08" else "expert"} for judge in frame["judge"].unique()
    }
    model = AnswerModel().fit(Judgments(frame, people=PEOPLE, judge_attributes=kinds))
    learned = model._learned
    assert learned.attributes.shape == (16, 3)
    expected = learned.attributes @ learned.panel.weights
    assert np.linalg.norm(expected[0] - expected[-1]) > 0.5


def test_planted_lapses_are_found_and_steady_judges_are_told_apart() -> None:
    people, frames = PEOPLE, []
    for number, respondent in enumerate(draw_respondents(people, 20, seed=3)):
        shaky = replace(respondent, noise=0.5 if number < 5 else 0.0, fatigue=0.0, position_bias=0.0)
        pairs = draw_pairs(people, 1, 20, seed=number)[0]
        for design, seed in (("uniform", 1), ("repeat", 2)):
            answers = shaky.answers(people, pairs, np.random.default_rng([number, seed]))
            rows = [(shaky.name, a, b, str(answer), design) for (a, b), answer in zip(pairs, answers, strict=True)]
            frames.append(pd.DataFrame(rows, columns=["judge", "a", "b", "answer", "design"]))
    given = Judgments(pd.concat(frames), people=people)
    reliability = AnswerModel(answers=COLUMNS).fit(given).reliability_
    assert (reliability["asked_again"] == 20).all()
    assert reliability["high"].iloc[:5].max() < reliability["low"].iloc[5:].min() + 0.1
    assert (reliability["high"].iloc[5:] == 1).all()
    # Of two answers with a lapse of one half each, (1/2 + 1/8)² + 3 (1/8)² agree.
    planted = (0.625**2 + 3 * 0.125**2) * np.ones(5)
    assert ((reliability["low"].iloc[:5] <= planted) & (planted <= reliability["high"].iloc[:5])).sum() >= 4


def test_reliability_intervals_hold_what_was_planted() -> None:
    inside = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        lapse = rng.beta(1.5, 12, 60)
        meant = rng.integers(4, size=(60, 8))
        said = [np.where(rng.random((60, 8)) < lapse[:, None], rng.integers(4, size=(60, 8)), meant) for _ in range(2)]
        judge, pair = np.tile(np.repeat(np.arange(60), 8), 2), np.tile(np.arange(480), 2)
        rows = AnswerRows(judge, pair, np.concatenate([each.ravel() for each in said]), np.zeros(960), 4)
        found = Lapses.learn(rows, np.zeros(480, dtype=bool), 0, 60).reliability(rows)
        truth = (1 - lapse * 0.75) ** 2 + 3 * (lapse / 4) ** 2
        inside.append((found[:, 1] <= truth) & (truth <= found[:, 2]))
    assert 0.92 <= np.mean(inside) <= 0.98


def test_whoever_answers_quickly_where_they_lapse_is_found_out() -> None:
    rng = np.random.default_rng(0)
    pace = rng.normal(size=(40, 20))
    lapse = 1 / (1 + np.exp(2.5 + 1.5 * pace))
    meant = rng.integers(4, size=(40, 20))
    again = np.where(rng.random((40, 20)) < lapse, rng.integers(4, size=(40, 20)), meant)
    judge, pair = np.tile(np.repeat(np.arange(40), 20), 2), np.tile(np.arange(800), 2)
    rows = AnswerRows(judge, pair, np.concatenate([meant.ravel(), again.ravel()]), np.append(0 * pace, pace), 4)
    assert Lapses.learn(rows, np.zeros(800, dtype=bool), 0, 40).slope < -0.5


def test_checks_tell_who_pays_no_attention() -> None:
    frame = said_by_priors()
    checks = [
        {
            "judge": judge,
            "a": a,
            "b": b,
            "design": "check",
            "answer": "no_constraint" if judge < "simulated-03" else "same",
        }
        for judge in frame["judge"].unique()
        for a, b in [("p1", "p2"), ("p3", "p4"), ("p5", "p6"), ("p7", "p8")]
    ]
    given = pd.concat([frame.assign(design="uniform"), pd.DataFrame(checks)])
    reliability = AnswerModel(answers=COLUMNS).fit(Judgments(given, people=PEOPLE)).reliability_
    assert (reliability["checks"] == 4).all()
    assert reliability["probability"].iloc[:3].max() < reliability["probability"].iloc[3:].min() - 0.2


def test_sets_hold_the_answer_as_often_as_asked() -> None:
    hits = []
    for seed in range(4):
        frame = said_by_priors(20, 30, noise=0.25, seed=seed)
        test = np.random.default_rng(seed).random(len(frame)) < 1 / 3
        model = AnswerModel(answers=COLUMNS).fit(Judgments(frame[~test], people=PEOPLE))
        sets = model.predict_sets(frame[test], 0.8, people=PEOPLE)
        hits += sets.to_numpy()[
            np.arange(test.sum()), [COLUMNS.index(answer) for answer in frame["answer"][test]]
        ].tolist()
    assert np.mean(hits) == pytest.approx(0.8, abs=0.04)


def held_out_answers(rng: np.random.Generator, judges: int = 6, answers: int = 12) -> HeldOutAnswers:
    """Answers of four kinds, each as probable as is said, of judges with two kinds of attributes."""
    judge = np.repeat(np.arange(judges), answers)
    probabilities = rng.dirichlet(np.full(4, 0.4), len(judge))
    said = np.array([rng.choice(4, p=each) for each in probabilities])
    return HeldOutAnswers(probabilities, said, rng.uniform(0.5, 2, len(judge)), judge, np.eye(2)[np.arange(judges) % 2])


@pytest.mark.parametrize("coverage", [0.6, 0.9])
def test_wrong_sets_of_one_answer_are_counted_by_thresholds_that_did_not_know_it(coverage: float) -> None:
    given = held_out_answers(np.random.default_rng(0))
    sets = np.empty((len(given.answer), 4), dtype=bool)
    for place in range(len(given.answer)):
        rest = np.arange(len(given.answer)) != place
        fewer = replace(
            given,
            probabilities=given.probabilities[rest],
            answer=given.answer[rest],
            weight=given.weight[rest],
            judge=given.judge[rest],
        )
        sets[place] = fewer.sets(given.probabilities[[place]], given.judge[[place]], coverage)
    single = sets.sum(axis=1) == 1
    weight = given.weight[single]
    wrong = weight @ ~sets[single, given.answer[single]] / weight.sum()
    number = weight.sum() ** 2 / (weight**2).sum()
    # The answer left out also takes its part of "one more answer", so that thresholds may differ by one place.
    assert given.error_bound(coverage) == pytest.approx(
        beta.ppf(0.95, wrong * number + 1, number - wrong * number), abs=0.04
    )


def test_the_error_bound_holds_for_answers_that_were_not_seen() -> None:
    """Seven answers of each judge: those by which thresholds were chosen would promise far too much."""
    bounds, wrong = [], []
    for seed in range(6):
        frame = said_by_priors(20, 10, noise=0.15, seed=seed)
        test = np.tile(np.arange(10) >= 7, 20)
        model = AnswerModel(answers=COLUMNS).fit(Judgments(frame[~test], people=PEOPLE))
        sets = model.predict_sets(frame[test], 0.95, people=PEOPLE).to_numpy()
        right = [COLUMNS.index(answer) for answer in frame["answer"][test]]
        single = sets.sum(axis=1) == 1
        wrong += (~sets[np.arange(len(right)), right])[single].tolist()
        bounds.append(model.error_bound(0.95))
    assert np.mean(wrong) < np.mean(bounds) < np.mean(wrong) + 0.15


def test_wider_coverage_never_takes_an_answer_out(model: AnswerModel) -> None:
    narrow, wide = (model.predict_sets(some_pairs(), coverage).to_numpy() for coverage in (0.6, 0.95))
    assert (wide | ~narrow).all()
    new = model.predict_sets(some_pairs("somebody new"), 0.95)
    assert new.any(axis=1).mean() > 0.8


def test_answers_that_stand_for_more_pairs_move_the_sets() -> None:
    frame = said_by_priors(10, 30, noise=0.4)
    odd = frame["answer"] == "no_constraint"  # only lapses say this
    plain = AnswerModel(answers=COLUMNS).fit(Judgments(frame, people=PEOPLE)).predict_sets(some_pairs(), 0.8)
    chance = frame.assign(selection_probability=np.where(odd, 0.001, 0.1))
    weighted = AnswerModel(answers=COLUMNS).fit(Judgments(chance, people=PEOPLE)).predict_sets(some_pairs(), 0.8)
    assert weighted.sum(axis=1).mean() > plain.sum(axis=1).mean() + 0.5


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda frame: frame.assign(answer="same"), "every answer is 'same'.*answers="),
        (lambda frame: frame.head(0), "nobody has answered"),
    ],
)
def test_judgments_that_say_nothing_are_refused(change: object, named: str) -> None:
    frame = change(said_by_priors())  # type: ignore[operator]
    with pytest.raises(InputError, match=named):
        AnswerModel().fit(Judgments(frame, people=PEOPLE))


def test_bad_input_is_answered_in_a_sentence(model: AnswerModel, said: Judgments) -> None:
    with pytest.raises(InputError, match="pairs: without 'judge'; needed: the columns judge, a and b"):
        model.predict_proba(some_pairs()[["a", "b"]])
    with pytest.raises(InputError, match=r"pairs, row 1, column b: 'nobody' is nobody in people.*people="):
        model.predict_proba([{"judge": "x", "a": "p1", "b": "nobody"}])
    with pytest.raises(InputError, match="people: without the columns 'town'"):
        model.predict_proba(some_pairs(), people=PEOPLE.drop(columns="town"))
    with pytest.raises(InputError, match="'age' held numbers"):
        model.predict_proba(some_pairs(), people=PEOPLE.assign(age="old"))
    for coverage in (1, 0, float("nan"), "0.9", True):
        with pytest.raises(InputError, match=rf"coverage={coverage!r}; allowed: a number between 0 and 1"):
            model.predict_sets(some_pairs(), coverage)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"pairs, row 2, column judge: empty; needed: a judge's name"):
        model.predict_proba([{"judge": "x", "a": "p1", "b": "p2"}, {"judge": None, "a": "p1", "b": "p2"}])
    with pytest.raises(InputError, match=r"pairs, row 1, column a: empty, which is nobody in people"):
        model.predict_proba(some_pairs().assign(a=None))
    with pytest.raises(InputError, match="pairs: not a table"):
        model.predict_proba(5)
    with pytest.raises(InputError, match="people: a pandas DataFrame with ids in its index is needed, not int"):
        model.predict_proba(some_pairs(), people=5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="people: every id must be there once"):
        model.predict_proba(some_pairs(), people=pd.concat([PEOPLE, PEOPLE]))
    with pytest.raises(InputError, match="people: 'age' holds an infinite number"):
        model.predict_proba(some_pairs(), people=PEOPLE.assign(age=np.inf))
    with pytest.raises(InputError, match="random_state='x'; allowed: a whole number"):
        AnswerModel(random_state="x").fit(said)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="judgments: Judgments are needed, not DataFrame"):
        AnswerModel().fit(said_by_priors())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not fitted"):
        AnswerModel().predict_proba(some_pairs())
    with pytest.raises(InputError, match="columns: not in people: 'shoe size'"):
        AnswerModel(columns=["shoe size"]).fit(said)
    with pytest.raises(InputError, match="answers: without 'same'"):
        AnswerModel(answers=["a_at_least_b"]).fit(said)
    with pytest.raises(InputError, match="answers: 'perhaps'"):
        AnswerModel(answers=["perhaps"]).fit(said)
    with pytest.raises(JudgmentsError, match="made without people="):
        AnswerModel().fit(Judgments(said_by_priors()))


def test_no_pairs_have_no_predictions(model: AnswerModel) -> None:
    nothing = some_pairs().head(0)
    for people in (None, PEOPLE):
        assert model.predict_proba(nothing, people=people).shape == (0, 4)
        assert model.predict_sets(nothing, people=people).shape == (0, 4)


def test_one_answer_of_one_judge_is_little_but_no_error() -> None:
    one = Judgments([{"judge": "simulated-03", "a": "p1", "b": "p2", "answer": "same"}], people=PEOPLE)
    model = AnswerModel(answers=COLUMNS).fit(one)
    assert model.predict_proba(some_pairs(), people=PEOPLE).sum(axis=1).to_numpy() == pytest.approx(1)
    assert model.predict_sets(some_pairs(), 0.9, people=PEOPLE).all(axis=None)  # nothing can be left out
    assert model.error_bound(0.9) == 1
    assert any("answered fewer than 5 pairs" in note for note in model.notes_)
    with pytest.raises(InputError, match="sets for new judges need a panel of two or more"):
        model.predict_sets(some_pairs("somebody new"), 0.9, people=PEOPLE)


def test_a_category_never_seen_and_a_missing_number_are_predicted(model: AnswerModel) -> None:
    others = PEOPLE.astype({"age": float}).assign(town="elsewhere")
    others.loc["p1", "age"] = np.nan
    predicted = model.predict_proba(some_pairs(), people=others)
    assert predicted.sum(axis=1).to_numpy() == pytest.approx(1)


def test_the_order_of_rows_and_the_sides_of_answers_do_not_matter(said: Judgments, model: AnswerModel) -> None:
    frame = said.frame[["judge", "a", "b", "answer"]].sample(frac=1, random_state=1)
    turned = frame.rename(columns={"a": "b", "b": "a"}).assign(
        answer=[str(Answer(answer).swapped()) for answer in frame["answer"]]
    )
    again = AnswerModel(answers=COLUMNS).fit(Judgments(turned, people=PEOPLE))
    assert again.predict_proba(some_pairs()).to_numpy() == pytest.approx(
        model.predict_proba(some_pairs()).to_numpy(), abs=1e-6
    )


def random_choices(rng: np.random.Generator) -> tuple[Scale, Choices]:
    scale = Scale.of(list(Answer))
    ahead, apart = rng.normal(size=(90, 3)), rng.normal(size=(90, 2))
    evidence = 0.9 * np.eye(4)[rng.integers(4, size=90)] + 0.025
    return scale, Choices.by_judge(scale.signs, np.repeat(np.arange(3), 30), 3, [ahead, apart, apart], evidence)


def test_the_gradient_is_that_of_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    _, choices = random_choices(rng)
    theta = rng.normal(size=(3, choices.n_coefficients))

    def likelihood(at: np.ndarray) -> np.ndarray:
        total: np.ndarray = np.log((choices.probabilities(at) * choices.evidence).sum(axis=-1)).sum(axis=1)
        return total

    gradient = choices.derivatives(theta)[0]
    for place in range(choices.n_coefficients):
        step = 1e-6 * np.eye(choices.n_coefficients)[place]
        numeric = (likelihood(theta + step) - likelihood(theta - step)) / 2e-6
        assert gradient[:, place] == pytest.approx(numeric, abs=1e-5)


def test_posterior_is_the_maximum_even_from_far_away() -> None:
    _, choices = random_choices(np.random.default_rng(1))
    d = choices.n_coefficients
    mean, precision = np.zeros((3, d)), np.eye(d) / 4
    near = posterior(choices, mean, precision, mean, 60).mean
    far = posterior(choices, mean, precision, np.full((3, d), 4.0), 200).mean
    assert near == pytest.approx(far, abs=1e-6)


def test_expected_probabilities_are_those_of_draws() -> None:
    rng = np.random.default_rng(0)
    scale = Scale.of(list(Answer))
    mean, root = rng.normal(size=(5, 3)), rng.normal(size=(5, 3, 3))
    found = expected_probabilities(scale.signs, mean, root @ root.swapaxes(1, 2))
    drawn = mean[:, None] + np.einsum("rbc,rsc->rsb", root, rng.standard_normal((5, 40_000, 3)))
    assert found == pytest.approx(softmax(drawn @ scale.signs).mean(axis=1), abs=0.02)


def test_people_are_encoded_by_what_was_learned() -> None:
    people = pd.DataFrame({"n": [1.0, 2.0, 3.0, np.nan], "c": ["u", "v", "u", None], "one": 1})
    encoder = PeopleEncoder.learn(people)
    encoded = encoder.encode(people)
    left, right = np.array([0, 3]), np.array([1, 2])
    assert np.array_equal(encoded.merit_differences(left, right), -encoded.merit_differences(right, left))
    assert np.array_equal(encoded.distances(left, right), encoded.distances(right, left))
    assert encoded.merit_differences(left, right).shape[1] == len(encoder.merit_columns)
    assert encoded.distances(left, right).shape[1] == len(encoder.distance_columns)
    assert Normal(np.ones((2, 3)), np.ones((2, 3, 3))).of(1).mean.shape == (3,)


def test_simulated_panels_are_learned_from_as_they_are() -> None:
    given = simulate_panel(PEOPLE, 6, 12, answers="four", seed=5)
    assert repr(AnswerModel(answers=COLUMNS).fit(given)) == "AnswerModel: 72 answers of 6 judges"


def test_rows_without_names_are_nobodys_ids_and_positions_count_rows() -> None:
    """Ids that are numbers would otherwise be looked up among row numbers, and answers be about others."""
    numbered = PEOPLE.set_axis(np.arange(60)[::-1], axis="index")
    place = dict(zip(PEOPLE.index, numbered.index, strict=True))
    frame = said_by_priors(4, 10)
    by_id = frame.assign(a=frame["a"].map(place), b=frame["b"].map(place))
    by_row = by_id.assign(a=59 - by_id["a"], b=59 - by_id["b"])
    model = AnswerModel().fit(Judgments(by_id, people=numbered))
    pairs = by_id[["judge", "a", "b"]]
    expected = model.predict_proba(pairs, people=numbered)
    with pytest.raises(InputError, match="pandas DataFrame with ids in its index is needed, not polars DataFrame"):
        model.predict_proba(pairs, people=pl.from_pandas(numbered))
    with pytest.raises(JudgmentsError, match="no index to look ids up in; give a DataFrame of pandas that is indexed"):
        Judgments(by_id, people=numbered).extended(model, 5, people=pl.from_pandas(numbered))
    counted = Judgments(by_row, people=numbered, by="position")
    positions = AnswerModel().fit(counted)
    for people in (numbered, pl.from_pandas(numbered), counted):
        found = positions.predict_proba(by_row[["judge", "a", "b"]], people=people)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    more = counted.extended(positions, 30, 0.7, people=numbered).frame.tail(30)
    named = more.assign(a=59 - more["a"], b=59 - more["b"])
    np.testing.assert_allclose(
        model.predict_proba(named, people=numbered).max(axis=1).to_numpy(), more["weight"].to_numpy(), atol=1e-12
    )


def test_predictions_have_the_index_of_their_pairs() -> None:
    said = Judgments(said_by_priors(4, 10), people=PEOPLE)
    model = AnswerModel().fit(said)
    some = said.frame[["judge", "a", "b"]].iloc[[7, 3, 20]]
    assert model.predict_proba(some).index.tolist() == model.predict_sets(some).index.tolist() == [7, 3, 20]
    np.testing.assert_allclose(model.predict_proba(some).loc[[3]], model.predict_proba(some.loc[[3]]), atol=1e-12)


def test_a_pair_of_nobody_is_named_plainly() -> None:
    rows = [{"judge": "u", "a": 1, "b": 2, "answer": "same"}, {"judge": "u", "a": 2, "b": 3, "answer": "no_constraint"}]
    model = AnswerModel().fit(Judgments(rows, people=pd.DataFrame({"age": [1, 2, 3]}, index=[1, 2, 3])))
    with pytest.raises(InputError, match="row 1, column a: 9 is nobody in people"):
        model.predict_proba(pd.DataFrame({"judge": ["u"], "a": [9], "b": [2]}))
    with pytest.raises(InputError, match="row 1, column b: empty, which is nobody"):
        model.predict_proba(pd.DataFrame({"judge": ["u"], "a": [1], "b": [None]}))
