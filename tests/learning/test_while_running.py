"""What is told while a fit runs, and that one which is stopped is as honest as one which is not."""

from __future__ import annotations

import logging
import signal
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.support.estimators import of_label_1

from fairwise import Judgments, PairwiseFairClassifier, frontier
from fairwise.auditing import held_out
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.learning.oracles.tree import TreeOracle
from fairwise.learning.solvers import progress
from fairwise.learning.solvers.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.learning.conftest import Town

    from fairwise.learning.solvers.progress import FitProgress

GAMMA = 0.05
SEARCHES: dict[str, dict[str, Any]] = {
    "tree": {"estimator": "tree", "tol": 1e-7},
    "linear": {"estimator": "linear", "tol": 1e-9},
    "game of trees": {"estimator": "tree", "solver": "no-regret", "n_rounds": 40, "lambda_bound": 4.0},
}
each_search = pytest.mark.parametrize("search", SEARCHES)


@pytest.fixture(autouse=True)
def _no_earlier_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests interrupt many fits, each as if nobody had interrupted one before."""
    monkeypatch.setattr(progress, "_SOON", 0.0)


@pytest.fixture(scope="module")
def crowd(make_town: Callable[..., Town]) -> Town:
    return make_town(3, n=150, n_answers=40)


def new(search: str, **more: Any) -> PairwiseFairClassifier:
    return PairwiseFairClassifier(**{"gamma": GAMMA, **SEARCHES[search], **more})


def fitted(town: Town, model: PairwiseFairClassifier, callback: Any = None) -> PairwiseFairClassifier:
    return model.fit(town.people, town.outcome, judgments=town.judgments, callback=callback)


def assert_true(town: Town, model: PairwiseFairClassifier) -> None:
    """The certificate says what the predictions do."""
    probability = pd.Series(of_label_1(model, town.people), index=town.people.index)
    rows = PairRows.from_judgments(town.judgments)
    found = model.certificate_
    assert found.error == pytest.approx(np.where(town.outcome == 1, 1 - probability, probability).mean())
    assert found.max_violation == pytest.approx(rows.violations(probability[rows.people].to_numpy()).max())
    if model.solver == "column-generation":
        assert found.max_violation <= GAMMA + 1e-6


@each_search
def test_a_callback_sees_every_iteration(crowd: Town, search: str) -> None:
    seen: list[FitProgress] = []
    model = fitted(crowd, new(search), seen.append)
    first = seen[0].iteration  # a heuristic counts those at larger gammas, too
    assert [one.iteration for one in seen] == list(range(first, first + len(seen)))
    assert (first > 1) == (search == "linear")
    assert np.diff([0.0, *(one.seconds for one in seen)]).min() >= 0
    assert {one.gamma for one in seen} == {GAMMA}
    assert [one.error for one in seen] == model.trajectory_["error"].tolist()
    assert seen[-1].n_classifiers >= len(model.weights_) - 1  # fewer may do as well
    assert np.isnan([one.bound for one in seen]).all() == (search == "linear")


def test_the_error_falls_and_the_bound_rises_until_they_meet(crowd: Town) -> None:
    seen: list[FitProgress] = []
    certificate = fitted(crowd, new("tree"), seen.append).certificate_
    assert len(seen) > 5
    assert np.diff([one.error for one in seen]).max() <= 1e-9
    assert np.diff([one.bound for one in seen]).min() >= 0.0
    for one in seen:
        assert one.gap == pytest.approx(one.error - one.bound)
        assert one.bound <= certificate.error + 1e-9
    # A mixture of fewer classifiers may give up what is left of the tolerance.
    assert seen[-1].error - 1e-9 <= certificate.error <= seen[-1].error + PairwiseFairClassifier().tol


class StopAt:
    """Stops a fit at one of its iterations, in one of three ways."""

    def __init__(self, iteration: int, how: str) -> None:
        self.iteration, self.how, self.last = iteration, how, 0

    def __call__(self, seen: FitProgress) -> bool:
        self.last = seen.iteration
        if seen.iteration < self.iteration:
            return False
        if self.how == "interrupt":
            raise KeyboardInterrupt
        if self.how == "signal":
            signal.raise_signal(signal.SIGINT)
        return True


@contextmanager
def at_each_iteration(stop: StopAt) -> Iterator[None]:
    """Call also at those that no callback sees, where a heuristic approaches gamma: all are logged."""
    log = logging.getLogger("fairwise")

    def called(record: logging.LogRecord) -> bool:
        seen = record.args[0] if isinstance(record.args, tuple) and record.args else None
        return not (isinstance(seen, progress.FitProgress) and stop(seen))

    before = log.level
    log.addFilter(called)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.removeFilter(called)
        log.setLevel(before)


def stopped(town: Town, model: PairwiseFairClassifier, stop: StopAt) -> PairwiseFairClassifier:
    if stop.how == "return":
        return fitted(town, model, stop)
    with at_each_iteration(stop):
        return fitted(town, model)


@each_search
@pytest.mark.parametrize("how", ["interrupt", "signal", "return"])
def test_stopped_at_any_iteration_it_keeps_the_best_so_far_and_is_honest(crowd: Town, search: str, how: str) -> None:
    whole: list[FitProgress] = []
    best = fitted(crowd, new(search), whole.append).certificate_
    errors = []
    first, last = (1 if how != "return" else whole[0].iteration), whole[-1].iteration
    for iteration in sorted({1, 2, 3, 5, last // 2, last - 1, first, last} & set(range(first, last + 1))):
        stop = StopAt(iteration, how)
        with pytest.warns(ConvergenceWarning, match="ended because it was interrupted: (up to|the rules)"):
            model = stopped(crowd, new(search), stop)
        found = model.certificate_
        assert stop.last == iteration
        assert found.stopped == "interrupted"
        assert_true(crowd, model)
        assert model.n_iter_ <= iteration
        if found.kind == "exact":
            assert found.lower_bound <= best.error + 1e-7
        errors.append(found.error)
    if search == "tree":
        assert np.diff(errors).max() <= 1e-9
        assert errors[0] > best.error + 1e-4


@pytest.mark.parametrize("after", [3, 4, 6])
def test_an_interruption_in_the_middle_of_a_change_does_no_harm(
    crowd: Town, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HiGHS has a column more, and nobody has noted yet whose it is."""
    enter, calls = Pool._enter, iter(range(100))

    def interrupted(pool: Pool, which: Any) -> None:
        before = pool._inside
        enter(pool, which)
        if next(calls) == after:
            pool._inside = before
            raise KeyboardInterrupt

    monkeypatch.setattr(Pool, "_enter", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = fitted(crowd, new("tree"))
    assert model.certificate_.stopped == "interrupted"
    assert_true(crowd, model)


def interrupt_answer(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Press Ctrl-C while the oracle is at this answer."""
    answer, calls = TreeOracle._answer, iter(range(1, 10**6))

    def impatient(oracle: TreeOracle, *given: Any) -> Any:
        if next(calls) == number:
            raise KeyboardInterrupt
        return answer(oracle, *given)

    monkeypatch.setattr(TreeOracle, "_answer", impatient)


def test_before_there_is_a_mixture_an_interruption_is_raised(crowd: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_answer(monkeypatch, 1)
    model = new("tree")
    with pytest.raises(KeyboardInterrupt):
        fitted(crowd, model)
    assert not hasattr(model, "classes_")
    monkeypatch.undo()
    interrupt_answer(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        fitted(crowd, new("game of trees"))


def test_a_second_interruption_stops_everything(crowd: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SOON", 60.0)
    monkeypatch.setattr(progress, "_last_kept", -np.inf)
    with pytest.warns(ConvergenceWarning):
        fitted(crowd, new("tree"), StopAt(2, "interrupt"))
    with pytest.raises(KeyboardInterrupt):
        fitted(crowd, new("tree"), StopAt(2, "interrupt"))


def test_who_fits_many_models_is_stopped_at_once(crowd: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_answer(monkeypatch, 5)
    with pytest.raises(KeyboardInterrupt):
        held_out(new("tree"), crowd.people, crowd.outcome, crowd.judgments, n_repeats=2)
    monkeypatch.undo()
    interrupt_answer(monkeypatch, 5)
    with pytest.raises(KeyboardInterrupt):
        frontier(crowd.people, crowd.outcome, crowd.judgments, gammas=[0.0, 0.2], estimator="tree")


@pytest.mark.parametrize("estimator", ["tree", "linear-regression"])
def test_a_game_ends_at_its_time_limit(crowd: Town, estimator: str) -> None:
    game: dict[str, Any] = {"estimator": estimator, "solver": "no-regret", "gamma": GAMMA}
    with pytest.warns(ConvergenceWarning, match="ended at its time limit"):
        model = fitted(crowd, PairwiseFairClassifier(**game, time_limit=1e-9))
    assert (model.certificate_.stopped, model.n_iter_, len(model.weights_)) == ("time", 1, 1)
    assert_true(crowd, model)
    played = fitted(crowd, PairwiseFairClassifier(**game, n_rounds=30))
    enough = fitted(crowd, PairwiseFairClassifier(**game, n_rounds=30, time_limit=600))
    assert enough.certificate_.stopped == "rounds"
    assert enough.certificate_.error == pytest.approx(played.certificate_.error)


def test_a_game_over_blocks_refuses_a_time_limit(crowd: Town) -> None:
    model = PairwiseFairClassifier("linear-regression", solver="no-regret", time_limit=5)
    blocks = [crowd.people.assign(paid=crowd.outcome)]
    with pytest.raises(InputError, match="time_limit=5 cannot be kept"):
        model.fit(blocks, "paid", judgments=crowd.judgments)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("Iteration")]


def test_verbose_prints_on_stderr_and_everything_is_logged(
    crowd: Town, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    printed = {}
    with caplog.at_level(logging.DEBUG, logger="fairwise"):
        for verbose in (0, 1, 2):
            caplog.clear()
            model = fitted(crowd, new("tree", verbose=verbose))
            out, err = capsys.readouterr()
            assert out == ""
            printed[verbose] = lines(err)
            logged = {
                level: [one.getMessage() for one in caplog.records if one.levelno == level and one.name == "fairwise"]
                for level in (logging.INFO, logging.DEBUG)
            }
            assert len(lines("\n".join(logged[logging.INFO] + logged[logging.DEBUG]))) == model.n_iter_
            assert logged[logging.INFO][-1].startswith("Search ended (gap) after ")
    assert printed[0] == []
    assert 0 < len(printed[1]) < len(printed[2]) == model.n_iter_
    assert [line.split()[1] for line in printed[1]][:4] == ["1", "2", "5", "10"]
    assert "proven bound 0." in printed[2][-1]


def test_a_callback_that_is_none_is_refused(crowd: Town) -> None:
    with pytest.raises(InputError, match="callback='print' is not allowed: it must be a function of one argument"):
        fitted(crowd, new("tree"), "print")


@pytest.mark.slow
def test_a_callback_ends_no_search_at_another_gamma() -> None:
    """In random small fits the documented callback leaves a model that is as near as it was told, at its own gamma."""
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(200):
        n, gamma = int(rng.integers(10, 16)), float(rng.choice([0.0, 0.01, 0.05, 0.2]))
        people = pd.DataFrame(rng.integers(0, 4, size=(n, 2)).astype(float), columns=["x", "z"])
        outcome = (people["x"] + rng.normal(size=n) > 1.5).to_numpy().astype(int)
        outcome[:2] = 0, 1
        pairs = [(min(a, b), max(a, b)) for a, b in rng.integers(0, n, size=(3, 2)).tolist() if a != b]
        judgments = Judgments([{"judge": "j", "a": a, "b": b, "answer": "same"} for a, b in dict.fromkeys(pairs)])
        seen: list[FitProgress] = []

        def near(now: FitProgress, seen: list[FitProgress] = seen) -> bool:
            seen.append(now)
            return now.gap < 0.01

        model = PairwiseFairClassifier("linear-regression", gamma=gamma, max_iter=4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(people, outcome, judgments=judgments.about(people), callback=near)
        assert {one.gamma for one in seen} == {gamma}
        certificate = model.certificate_
        assert certificate.max_violation <= gamma + 1e-6
        if certificate.stopped == "interrupted":
            assert certificate.error - certificate.oracle_bound < 0.01 + 1e-9
            assert certificate.error <= seen[-1].error + 1e-9
            ended += 1
    assert ended > 20


@pytest.mark.parametrize("how", ["callback", "interrupt"])
def test_a_fit_that_is_stopped_while_it_looks_for_the_least_excess_keeps_its_model(crowd: Town, how: str) -> None:
    asked: list[FitProgress] = []

    def stop(now: FitProgress) -> bool:
        asked.append(now)
        if np.isnan(now.gap) and how == "interrupt":
            raise KeyboardInterrupt
        return bool(np.isnan(now.gap))

    model = fitted(crowd, new("tree", eta=0.05, tol=1e-3), stop)
    assert np.isnan(asked[-1].gap)
    assert model.certificate_.stopped == "gap"
    assert -1e-9 <= model.certificate_.gap <= 1e-3


def test_the_search_for_the_least_excess_ends_after_max_iter(crowd: Town) -> None:
    asked: list[FitProgress] = []
    fitted(crowd, new("tree", eta=0.05, tol=1e-3), asked.append)
    needed = sum(not np.isnan(one.gap) for one in asked)
    assert len(asked) > needed
    asked.clear()
    model = fitted(crowd, new("tree", eta=0.05, tol=1e-3, max_iter=needed), asked.append)
    assert len(asked) == needed
    assert model.certificate_.stopped == "gap"
