"""The first page: right in every case, easy to read, and about nobody in particular."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from tests.support.readability import reading_ease

from fairwise.errors import InputError
from fairwise.reporting import Findings
from fairwise.reporting.figures import draw_figures
from fairwise.reporting.first_page import message
from fairwise.reporting.page import ANNEX, render
from fairwise.reporting.words import ENGLISH, languages, words_in
from fairwise.results.certificate import Baseline, HeldOutErrors

READABLE = 50


def with_numbers(
    found: Findings, error: float, plain: float | None, guess: float | None = 0.46, **more: Any
) -> Findings:
    """The same study with other numbers: everything followed, and people who are real."""
    kind = more.pop("kind", "exact")
    not_followed, in_force = more.pop("not_followed", 0), more.pop("in_force", 100)
    counts = ("n_judges", "n_simulated", "n_affected", "n_not_known")
    panel: dict[str, Any] = {name: more.pop(name) for name in counts if name in more}
    overall = found.audit.overall.copy()
    overall.loc["value", ["in_force", "not_followed"]] = in_force, not_followed
    return replace(
        found,
        certificate=replace(found.certificate, error=error, kind=kind),
        plain_error=plain,
        guess_error=guess,
        guess_label=None if guess is None else "granted",
        panel=replace(found.panel, **({"n_judges": 17, "n_simulated": 0, "n_affected": 5, "n_not_known": 0} | panel)),
        audit=replace(found.audit, overall=overall),
        **more,
    )


def on_new_people(error: float, plain: float, constant: float, *, clear: bool) -> HeldOutErrors:
    """Errors on people left out; whether the model is clearly better than the others."""
    others = [
        Baseline(other, other - 0.05, other + 0.05, other - error, 0.01 if clear else -0.01, 0.1)
        for other in (plain, constant)
    ]
    return HeldOutErrors(error, error - 0.02, error - 0.04, error + 0.04, 3, *others)


CASES: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"error": 0.291, "plain": 0.184, "guess": 0.32},
        [
            "Following what 17 people asked for costs 10.7 more wrong decisions in 100 (29.1 instead of 18.4).",
            "5 of the 17 are affected themselves.",
            "The model beats always saying “granted” by 2.9 in 100.",
        ],
    ),
    ({"error": 0.194, "plain": 0.186}, ["costs 0.8 more wrong decisions in 100 (19.4 instead of 18.6)."]),
    ({"error": 0.196, "plain": 0.19}, ["costs 0.6 more wrong decisions in 100 (19.6 instead of 19)."]),
    ({"error": 0.2, "plain": 0.19}, ["costs 1 more wrong decision in 100 (20 instead of 19)."]),
    ({"error": 0.2001, "plain": 0.2}, ["costs nothing that shows. The model is wrong 20 times in 100, with it or"]),
    ({"error": 0.2, "plain": 0.23}, ["costs nothing. The model is wrong 20 times in 100, the best found without 23"]),
    (
        {"error": 0.3, "plain": 0.2, "not_followed": 3, "in_force": 1000},
        ["The model follows 99.7\N{NO-BREAK SPACE}% of what 17 people asked for. That costs 10 more wrong decisions"],
    ),
    ({"error": 0.3, "plain": 0.3, "not_followed": 3}, ["That costs nothing that shows: it is wrong 30 times in 100"]),
    ({"error": 0.3, "plain": 0.2, "guess": 0.3004}, ["It does not beat always saying “granted”: that too is wrong 30"]),
    ({"error": 0.3, "plain": 0.2, "guess": 0.27}, ["Always saying “granted” would do better: it is wrong 27 times"]),
    (
        {"error": 0.3, "plain": None, "guess": None},
        ["The model follows what 17 people asked for. It is wrong 30 times"],
    ),
    (
        {"error": 0.3, "plain": 0.2, "n_affected": 0, "n_not_known": 17},
        ["Whether such decisions affect them is not known."],
    ),
    (
        {"error": 0.3, "plain": 0.2, "n_affected": 2, "n_not_known": 5},
        ["Such decisions affect 2 of the 17, and not 10; of 5 that is not known."],
    ),
    ({"error": 0.3, "plain": 0.2, "n_affected": 0}, ["None of the 17 is affected."]),
    ({"error": 0.3, "plain": 0.2, "n_affected": 17}, ["All 17 are affected themselves."]),
    ({"error": 0.3, "plain": 0.2, "n_judges": 1, "n_affected": 1}, ["what 1 person asked for", "affected too."]),
    (
        {"error": 0.3, "plain": 0.2, "n_simulated": 17, "n_affected": 0},
        ["Following what 17 simulated people asked for", "No real person was asked."],
    ),
    (
        {"error": 0.3, "plain": 0.2, "n_simulated": 12, "n_affected": 2},
        ["Following what 17 people (12 of them simulated) asked for", "Such decisions affect 2 of the 5 real people."],
    ),
    (
        {"error": 0.3, "plain": 0.2, "held_out": on_new_people(0.375, 0.36, 0.377, clear=False)},
        [
            "Following what 17 people asked for costs 1.5 more wrong decisions in 100 (37.5 instead of 36).",
            "The model is not clearly better than always saying “granted”: that is wrong 37.7 times in 100.",
            "All errors here were measured on people left out when such models were made.",
        ],
    ),
    (
        {"error": 0.3, "plain": 0.2, "held_out": on_new_people(0.3, 0.31, 0.4, clear=True)},
        ["costs nothing. The model is wrong 30 times in 100", "The model beats always saying “granted” by 10 in 100."],
    ),
    (
        {"error": 0.3, "plain": 0.2, "held_out": on_new_people(0.3, 0.31, 0.4, clear=False)},
        ["It is not clearly more accurate than without what they asked for.", "not clearly better than always saying"],
    ),
    ({"error": 0.3, "plain": 0.2}, ["All this is about the people the model was made from."]),
    ({"error": 0.3, "plain": 0.2, "kind": "heuristic"}, ["There may be a better model: no proof rules that out."]),
    (
        {"error": 0.3, "plain": 0.3, "in_force": 0},
        ["17 people were asked, and nobody asked for anything. So the model is free. It is wrong 30 times in 100."],
    ),
]


@pytest.mark.parametrize(("given", "told"), CASES)
def test_what_is_said(given: dict[str, Any], told: list[str], complete: Findings) -> None:
    said = message(with_numbers(complete, **given), ENGLISH)
    assert [sentence for sentence in told if sentence not in said] == [], said
    assert "None" not in said.replace("None of the", "")
    german = message(with_numbers(complete, **given), words_in("de"))
    assert not set(re.findall(r"[A-Z][a-z]+ing|\bthe\b|\basked\b", german)), german
    numbers = [re.findall(r"\d+(?:[.,]\d+)?", text.replace(",", ".")) for text in (said, german)]
    if given.get("in_force") != 0:
        assert sorted(set(numbers[0])) == sorted(set(numbers[1]))


def first_page(findings: Findings, language: str) -> str:
    """What stands there to be read: without the figure, and without the title, which is the study's own."""
    section = re.search(r'<section id="message".*?</section>', render(findings, language=language), re.DOTALL)
    assert section is not None
    text = re.sub(r"<svg.*?</svg>|<h2.*?</h2>|<[^>]+>", " ", section[0], flags=re.DOTALL)
    return " ".join(unescape(text).split())


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("given", [CASES[place][0] for place in (0, 4, 6, 9, 15, 16)])
def test_the_first_page_is_easy_to_read(language: str, given: dict[str, Any], complete: Findings) -> None:
    text = first_page(with_numbers(complete, **given), language)
    assert len(text) > 200
    assert reading_ease(text, language) >= READABLE, text


def test_the_formulas_tell_easy_from_hard() -> None:
    assert reading_ease("The cat sat on the mat. It was fat.", "en") > 90
    assert reading_ease("Die Katze liegt im Bett. Sie ist satt.", "de") > 80
    legal = "Notwithstanding jurisdictional considerations, indemnification obligations necessitate documentation."
    assert reading_ease(legal, "en") < 0
    amtlich = "Die Verwaltungsverfahrensvereinfachungsverordnung regelt Zuständigkeitsübertragungen abschließend."
    assert reading_ease(amtlich, "de") < 0


def before_the_annex(html: str) -> str:
    return html.partition('<div class="annex">')[0].partition("</nav>")[2] + first_section(html)


def first_section(html: str) -> str:
    return html.partition('<section id="message"')[2].partition("</section>")[0]


@pytest.mark.parametrize("language", languages())
def test_no_letters_of_the_paper_and_no_code_before_the_annex(complete: Findings, language: str) -> None:
    read = before_the_annex(render(complete, language=language))
    assert not re.findall(r"[α-ω]|<code|<pre", read)
    assert re.findall(r"[α-ω]", render(complete, language=language))


def test_nobodys_id_unless_it_is_switched_on(complete: Findings) -> None:
    ids = {pair.a for pair in complete.dearest} | {str(judge) for judge in complete.audit.by_judge["judge"]}
    shown = {
        details: re.sub(r"<style.*?</style>", "", render(complete, case_details=details)) for details in (False, True)
    }
    hidden = [name for name in ids if re.search(rf"(?<![\w.,-]){re.escape(name)}(?![\w.,%-])", visible(shown[False]))]
    assert hidden == []
    assert all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", visible(shown[True])) for name in ids)


def visible(html: str) -> str:
    """The parts where somebody could be named: cards, what each gets, and what figures say."""
    cards = re.findall(r'<li class="card">.*?<table>\s*<caption>.*?</caption>', html, re.DOTALL)
    judges = re.findall(r'<section id="judges".*?</section>', html, re.DOTALL)
    return " ".join(
        [*cards, *re.findall(r"<th scope=.row.>.*?</th>", " ".join(judges)), *re.findall("<title>.*?</title>", html)]
    )


def test_free_texts_are_left_out_unless_they_are_switched_on(
    found: Callable[..., Findings],
) -> None:
    report = found()
    letter = "I was late because the bus did not come, and then it rained for the whole of the afternoon."
    pair = report.dearest[0]
    wordy = replace(pair, features=(*pair.features, ("Letter", letter, letter)))
    told = replace(report, dearest=(wordy,), free_texts=("Letter",))
    drawings = draw_figures(told)
    assert letter not in render(told, drawings)
    assert "Not shown: Letter." in render(told, drawings)
    assert letter in render(told, drawings, case_details=True)


def test_the_annex_comes_last_and_has_the_proof(complete: Findings) -> None:
    html = render(complete)
    begins = html.index('<div class="annex">')
    for name, _ in ANNEX:
        assert html.index(f'<section id="{name}"') > begins


def test_a_language_that_there_is_not_is_refused(complete: Findings) -> None:
    with pytest.raises(InputError, match="no report in 'xx'; there are en, de"):
        render(complete, language="xx")
