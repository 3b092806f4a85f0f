"""A report in another language is in that language from its title to its last rule."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from tests.support.english_left import common_words, untranslated, visible

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import effects, learned_effects
from fairwise.datasets import make_people
from fairwise.judgments import agreement
from fairwise.learning.model import mixture
from fairwise.learning.model.rules import label_words
from fairwise.learning.model.simpler import _threshold_in_words
from fairwise.learning.settings import PARITIES, parity
from fairwise.learning.target import AmountTarget, LabelTarget, Target
from fairwise.messages import translated
from fairwise.reporting import findings
from fairwise.reporting.page import findings_in, render, rule_texts
from fairwise.reporting.words import ENGLISH, words_in
from fairwise.results.simpler_models import group_rule
from fairwise.simulation import SecondRound, draw_pairs, simulate_panel, simulate_second_round

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.reporting import Findings

GERMAN = words_in("de")


def check(text: str) -> None:
    assert not common_words(text)
    assert not untranslated(text, "de")


def test_english_is_noticed(complete: Findings) -> None:
    english = visible(render(complete))
    assert len(common_words(english)) > 30
    assert len(untranslated(english, "de")) > 100
    assert common_words("The model decides") == {"The"}
    assert "is at most" in untranslated("wenn Alter is at most 3:", "de")


@pytest.mark.parametrize("case_details", [False, True])
def test_a_german_report(found: Callable[..., Findings], case_details: bool) -> None:
    page = render(found(question="Sollen beide gleich behandelt werden?"), language="de", case_details=case_details)
    check(visible(page))
    assert 'lang="en"' not in page


def test_a_german_report_of_little(found: Callable[..., Findings]) -> None:
    check(visible(render(found(outcome=None, frontier=None, groups=None, simulated=False), language="de")))


def _talked(**planted: float) -> tuple[pd.DataFrame, pd.Series, SecondRound]:
    people, outcome = make_people(60, 3, 5)
    first = simulate_panel(people, 12, answers="four", pairs=draw_pairs(people, 1, 8, seed=3)[0], seed=3)
    return people, outcome, simulate_second_round(first, n_pairs=6, seed=3, **planted)  # type: ignore[arg-type]


def test_a_german_report_of_two_rounds(complete: Findings) -> None:
    people, outcome, second = _talked(persuasion=0.5, returning=0.8)
    model = PairwiseFairClassifier("tree", max_depth=1, favorable_label=1)
    of_model = {"groups": np.arange(60) % 2, "n_resamples": 10, "n_draws": 19}
    learned = learned_effects(model, people, outcome, second.judgments, **of_model)  # type: ignore[arg-type]
    talk = replace(effects(second.judgments, reasons=second.reasons, n_draws=99), learned=learned)
    page = visible(render(replace(complete, effects=talk, question=None, date=None), language="de"))
    check(page.replace("control", "").replace("reasons", ""))  # names of arms are the study's own
    assert "Was das Gespräch bewirkt hat" in page
    assert not re.search(r"\bnan\b", page)
    assert "What talking did" in render(replace(complete, effects=talk))
    assert "What talking did" not in render(complete)


def test_every_note_about_two_rounds_is_known_in_german() -> None:
    _, _, second = _talked(wavering=0.0)
    frame, arms = second.judgments.frame, second.judgments.judge_attributes[["arm"]]
    first, judges = frame[frame["round"] == 1], second.judgments.judges
    one = frame[(frame["round"] == 1) | (frame["judge"] == judges[0])]
    two = frame[(frame["round"] == 1) | frame["judge"].isin(judges[:2])]
    late = frame[(frame["round"] == 2) | ~frame["judge"].isin(judges[:1])]
    later = frame[(frame["round"] == 2) | ~frame["judge"].isin(judges[:2])]
    tables = [(rows, arms) for rows in (first, one, two, late, later)]
    tables += [(frame, arms.iloc[number:]) for number in (1, 2, len(arms))]
    in_rooms = arms.assign(arm=np.repeat(["control", "reasons"], 6), room=np.arange(12) // 3)
    moved = [
        in_rooms.assign(arm=in_rooms["arm"].mask(in_rooms.index.isin(some), "reasons"))
        for some in (judges[:1], judges[:4:3])
    ]
    tables += [(frame, known) for known in (in_rooms, in_rooms.assign(block=in_rooms["room"] % 2))]
    tables += [(frame, arms.assign(block=np.where(np.arange(12) < n, np.nan, np.arange(12) % 2))) for n in (1, 2)]
    every = [effects(Judgments(rows, judge_attributes=known), n_draws=99) for rows, known in tables]
    every += [effects(Judgments(frame, judge_attributes=known), n_draws=99, unit="room") for known in moved]
    notes = {note for result in every for note in result.notes}
    assert len({re.sub(r"\d+|arm \w+", "", note) for note in notes}) == 19
    for note in notes:
        assert translated(note, GERMAN.language) != note


# Models of every kind: their rules, what they break, and what is proved of them.

PEOPLE = pd.DataFrame(
    {"Alter": [20.0, 31, 42, 53, 64, None, 25, 36], "Stadt": ["Aachen", "Bad Ems", "Cottbus", None] * 2},
    index=pd.Index([f"p{k}" for k in range(8)], name="id"),
)
OUTCOME = pd.Series([0, 0, 1, 1, 1, 0, 1, 0], index=PEOPLE.index)
ANSWERS = Judgments(
    [{"judge": "j", "a": f"p{k}", "b": f"p{k + 1}", "answer": "same", "design": "uniform"} for k in range(7)],
    people=PEOPLE,
)
KINDS: dict[str, Any] = {
    "tree": {"estimator": "tree", "max_depth": 2},
    "linear": {"estimator": "linear"},
    "scikit-learn": {"estimator": LogisticRegression()},
    "by name": {"estimator": GaussianNB()},
    "cut short": {"estimator": "tree", "max_depth": 2, "max_iter": 1},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("single", [False, True], ids=["by lot", "single"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_in_german(kind: str, single: bool) -> None:
    model = PairwiseFairClassifier(gamma=0.2, favorable_label=1, **KINDS[kind]).fit(PEOPLE, OUTCOME, judgments=ANSWERS)
    if single:
        model = model.derandomize()
    found = findings(model, PEOPLE, ANSWERS, OUTCOME, labels=None)
    texts, proved = rule_texts(found, GERMAN, 20), model.certificate_
    lines = [text for rule in texts.rules for text in (rule.head, *(line for _, line in rule.lines))]
    sentences = map(GERMAN.sentence, [proved.hypothesis_class, *proved.warnings, proved.rule or ""])
    check(" | ".join([texts.lead, *lines, *texts.notes, *sentences]).replace("GaussianNB", ""))
    check(visible(render(found, language="de")))
    explained = model.explain(PEOPLE.iloc[[0]], findings_in(found, GERMAN).rules)
    check(" | ".join([explained.region or "", *explained.rules["because"]]).replace("GaussianNB", ""))
    assert rule_texts(found, ENGLISH, 20).lead == found.rules.lead


AMOUNTS = AmountTarget(0.0, 20_000.0, 8, "squared", larger_is_better=True)


LABELS = LabelTarget(np.array([0, 1]), 1.0 - np.eye(2))


def warnings(target: Target = LABELS, **changes: Any) -> list[str]:
    facts = {"stopped": "gap", "error": 0.3, "bound": 0.25, "exact": True, "constant_weight": 0.0}
    return list(mixture._warnings(SimpleNamespace(**facts | changes), target))  # type: ignore[arg-type]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("stopped", mixture._ENDED)
def test_every_warning_in_german(stopped: str, exact: bool) -> None:
    told = [
        *warnings(stopped=stopped, exact=exact, constant_weight=0.625),
        *warnings(stopped=stopped, exact=exact, bound=0.4),
        *warnings(AMOUNTS, stopped=stopped, exact=exact, constant_weight=0.625),
    ]
    assert len(told) == 5
    for one in told:
        check(GERMAN.sentence(one).replace("max_iter", "").replace("time_limit", ""))
        assert ENGLISH.sentence(one) == one
    assert "0,0500" in GERMAN.sentence(told[0])
    assert "62\N{NO-BREAK SPACE}%" in GERMAN.sentence(told[1])
    assert "ein einziger Betrag für alle" in GERMAN.sentence(told[4])


def test_single_rules_and_agreement_in_german() -> None:
    for threshold in (0.0, 0.5, 2.0):
        check(GERMAN.sentence(_threshold_in_words(threshold, label_words(np.array([0, 1])))))
    for _, said in agreement._WORDS:
        check(GERMAN.sentence(said))
    assert GERMAN.sentence("0,3 in eigenen Worten") == "0,3 in eigenen Worten"


def test_rules_about_groups_in_words() -> None:
    """Of every kind that the console offers, by the names that a fit gives them."""
    model = PairwiseFairClassifier(
        "tree", favorable_label=1, max_depth=1, group_constraints=[parity(rate, 0.5) for rate in PARITIES]
    )
    model.fit(PEOPLE, OUTCOME, judgments=ANSWERS, sensitive_features=["Frauen", "Männer"] * 4)
    for name in model.group_rules_["rule"]:
        check(GERMAN.sentence(group_rule(name)))
        assert name.endswith(("Frauen", "Männer"))
        assert "Parity" not in group_rule(name)
    assert group_rule("of one's own") == "of one's own"
