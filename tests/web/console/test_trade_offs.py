"""Points that are offered: no offered one beats another on the two numbers that people read, and names are true."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from html import unescape
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.support.fits import done_job, point, write_fit
from tests.support.operating import operating
from tests.support.visits import Visit, hidden

from fairwise import Judgments, frontier
from fairwise.results.fits import FrontierPoint, best_trade_offs
from fairwise.store.fit_files import FRONTIER, Fitted, job_folder
from fairwise.store.votes import LEAST_OPTIONS, MOST_OPTIONS, Option, last_vote
from fairwise.study.texts import language
from fairwise.web.console.fit_form import aims_of
from fairwise.web.shared.views import options_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

STUDIES = 60
ENGLISH = language("en")


def printed(options: list[Option]) -> list[tuple[Decimal, Decimal]]:
    """The two numbers of each option as participants read them: wrong decisions, and answers followed."""
    views = [options_of([one], ENGLISH)[0] for one in options]
    return [(Decimal(view.wrong), Decimal(view.followed)) for view in views]


def beaten(options: list[Option]) -> int:
    """How many options another one beats or equals on both."""
    numbers = printed(options)
    return sum(
        any(k != j and other[0] <= one[0] and other[1] >= one[1] for j, other in enumerate(numbers))
        for k, one in enumerate(numbers)
    )


def check_offers(points: list[FrontierPoint]) -> None:
    options = [Option.of(one) for one in best_trade_offs(points, of_amounts=False)]
    assert beaten(options) == 0
    for one, other in pairwise(options):
        assert one.followed > other.followed, "those first that follow most"
        assert one.error > other.error, "a model that follows more is wrong about more"
    aims = aims_of(points)
    assert beaten([Option(0, aim.error, aim.followed, aim.not_followed) for aim in aims]) == 0  # type: ignore[arg-type]
    assert aims[0].name == "everything"
    assert aims[0].not_followed == min(one.not_followed for one in points)
    assert ("Every answer" in aims[0].about) == (aims[0].not_followed == 0)
    names = [aim.name for aim in aims]
    assert names in (["everything"], ["everything", "accuracy"], ["everything", "balanced", "accuracy"])
    if "accuracy" in names:
        least = min(one.error for one in points)
        assert aims[-1].error == pytest.approx(least, abs=0.0005)
        assert aims[-1].not_followed > max(aim.not_followed for aim in aims[:-1])


def random_points(rng: np.random.Generator) -> list[dict[str, Any]]:
    """A frontier as noisy as other mixtures of equal error make it, sometimes with points that are printed alike."""
    count, asked = int(rng.integers(1, 12)), int(rng.choice([7, 40, 900, 20_000]))
    errors = np.sort(rng.uniform(0.0, 0.5, count))[::-1].round(int(rng.choice([2, 3, 4, 9])))
    missed = np.sort(rng.integers(0, asked + 1, count)) + rng.integers(-2, 3, count) * int(rng.choice([0, 1]))
    missed = missed.clip(0, asked) * (np.arange(count) > 0)
    return [
        {**point(0.01 * k, float(error), []), "followed": asked - int(n), "not_followed": int(n)}
        for k, (error, n) in enumerate(zip(errors, missed, strict=True))
    ]


def fitted_points(seed: int) -> list[dict[str, Any]]:
    """The frontier of a small random study, as a job writes it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    people = pd.DataFrame(rng.integers(0, 4, (n, 2)), columns=["x", "z"], index=[f"c{k}" for k in range(n)])
    outcome = pd.Series((people["x"] + rng.normal(0, 1.5, n) > 1.5).astype(int), people.index)
    outcome.iloc[0], outcome.iloc[1] = 0, 1
    pairs = {tuple(sorted(rng.choice(people.index, 2, replace=False))) for _ in range(int(rng.integers(5, 30)))}
    lines = [(f"j{k % 3}", a, b, rng.choice(["same", "a_at_least_b"])) for k, (a, b) in enumerate(sorted(pairs))]
    judgments = Judgments(pd.DataFrame(lines, columns=["judge", "a", "b", "answer"]))
    curve = frontier(
        *(people, outcome, judgments),
        gammas=[0.05],
        etas=[0.0, 0.01, 0.03, 0.06, 0.1, None],
        estimator="tree",
        max_depth=1,
        favorable_label=1,
        n_not_followed=0,
    )
    rows = curve[["error", "followed", "not_followed"]].to_dict("records")
    return [point(0.01 * k, 0.0, []) | {str(name): value for name, value in row.items()} for k, row in enumerate(rows)]


def offered(points: list[dict[str, Any]], study: Path) -> list[FrontierPoint]:
    """What the console reads of the files of a fit that found these points; the first is the fit itself."""
    folder = job_folder(study, 1)
    if not folder.exists():
        write_fit(study, 1, {"a": 0.5, "b": 0.5})
    points = [{**one, "own": k == len(points) // 2} for k, one in enumerate(points)]
    (folder / FRONTIER).write_text(json.dumps({"points": points}), encoding="utf-8")
    fitted = Fitted.of(study, 1)
    assert fitted is not None
    own = fitted.own_place
    assert own is not None
    assert fitted.frontier[own].own
    return fitted.frontier


def test_random_frontiers(tmp_path: Path) -> None:
    rng = np.random.default_rng(15)
    for _ in range(240):
        check_offers(offered(random_points(rng), tmp_path))


def check_page(page: str, pattern: str) -> int:
    """Check that no line of a page beats or equals another one; returns how many there are."""
    lines = [(Decimal(wrong), Decimal(followed)) for wrong, followed in re.findall(pattern, unescape(page))]
    for one, other in permutations(lines, 2):
        assert not (one[0] <= other[0] and one[1] >= other[1]), lines
    return len(lines)


@pytest.mark.slow
def test_every_page_that_offers_points(make_study: Callable[..., StudyFolder], tmp_path: Path) -> None:
    """The form for a model, the form of a vote, the ballot, and the decision, of sixty small random studies."""
    seen = Counter[str]()
    with operating(make_study().path, tmp_path / "study.sqlite") as console:
        console.set_up()
        visit = Visit(console.client)
        mine = visit.begin()
        for number in range(1, 5):
            visit.answer(mine, number)
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")))
        study, store = console.site.host.path, console.site.host.store
        done_job(store, study, {"known-as-1": 0.2, "known-as-2": 0.7})
        for seed in range(STUDIES):
            points = offered(fitted_points(seed), study)
            form = re.sub(r"(\d+) of (\d+) answers not followed", _followed, console.get("/fits/new").text)
            seen["form"] += check_page(form, r"<b>([\d.]+)</b> wrong decisions in 100, (-\d+)")
            counts = r"([\d.]+) wrong decisions in 100, (\d+) of \d+ answers followed"
            n_points = check_page(console.get("/vote").text, rf'type="checkbox".*?<span>{counts}')
            assert n_points <= len(points)
            if n_points < LEAST_OPTIONS:
                continue
            chosen = {f"point-1-{k}": "yes" for k in range(min(n_points, MOST_OPTIONS))}
            seen["vote"] += check_page(console.post("/vote/open", fit="1", rule="approval", **chosen).text, counts)
            row = r"</svg> ([\d.]+)</td>\s*<td><svg[^>]*>.*?</svg> ([\d.]+)</td>"
            seen["ballot"] += check_page(visit.get(f"{mine}/vote").text, row)
            vote = store.read_now(last_vote)
            assert vote is not None
            seen["decision"] += check_page(console.post("/vote/close", vote=str(vote.id)).text, rf"<dd>{counts}")
    assert seen["form"] >= STUDIES
    assert seen["vote"] == seen["ballot"] == seen["decision"] > STUDIES


def _followed(found: re.Match[str]) -> str:
    """Answers followed, as a number that is larger where more are: less than none of those not followed."""
    return f"-{found[1]}"


@pytest.mark.slow
def test_small_studies(tmp_path: Path) -> None:
    for seed in range(STUDIES):
        check_offers(offered(fitted_points(seed), tmp_path))
