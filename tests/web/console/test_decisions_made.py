"""A study about several decisions, or an amount, made in the browser and changed in its editor."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.study_making import CHOSEN, PEOPLE, TABLE, csv, problem, uploaded

from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from httpx2 import Response
    from tests.support.operating import Operating

RNG = np.random.default_rng(1)
LABELS = ("conditions", "deny", "release")
DECIDED = TABLE.assign(
    good=RNG.choice(LABELS, PEOPLE), lent=RNG.choice([500.5, 1000, 2000, 7250, 20_000], PEOPLE), never=range(PEOPLE)
).drop(columns="again")
WORDS = ("released under conditions", "kept in prison", "released")
ROWS = {
    f"decision-{part}-{row}": text
    for row, texts in enumerate(zip(LABELS, WORDS, ("0,6", "0", "1"), strict=True))
    for part, text in zip(("label", "words", "value"), texts, strict=True)
}
TIERS = {**CHOSEN, "kind": "tiers", "treated_well": "", **ROWS}
AMOUNT = {
    **{name: text for name, text in CHOSEN.items() if name != "treated_well"},
    "outcome": "5",
    "kind": "amount",
    "amount-unit": "DM",
    "amount-least": "0",
    "amount-most": "20000",
    "amount-better": "more",
}


def value(page: Response, name: str) -> str:
    found = re.search(rf'<input id="{name}" name="{name}" value="([^"]*)"', page.text)
    assert found is not None, name
    return unescape(found[1])


def test_several_decisions(plain_console: Operating) -> None:
    path = uploaded(plain_console, csv(DECIDED))
    preview = plain_console.post(f"{path}/preview", **TIERS)
    places = [preview.text.index(f"<li><bdi>{words}</bdi></li>") for words in (WORDS[2], WORDS[0], WORDS[1])]
    assert places == sorted(places)
    assert plain_console.post(path, **TIERS).url.path == "/admin/study"
    study = StudyFolder.open(plain_console.site.host.path)
    assert study.settings.label_values == {"conditions": 0.6, "deny": 0, "release": 1}
    assert study.settings.tiers == ((WORDS[2],), (WORDS[0],), (WORDS[1],))
    assert study.settings.treated_well == "getting a better decision"
    assert study.outcome().tolist() == DECIDED["good"].tolist()


def test_an_amount(plain_console: Operating) -> None:
    path = uploaded(plain_console, csv(DECIDED))
    assert "From <bdi>0</bdi> to <bdi>20,000 DM</bdi>" in plain_console.post(f"{path}/preview", **AMOUNT).text
    assert plain_console.post(path, **AMOUNT).url.path == "/admin/study"
    study = StudyFolder.open(plain_console.site.host.path)
    assert study.settings.amount is not None
    assert study.settings.amount.model_dump() == {"unit": "DM", "least": 0, "most": 20_000, "better": "more"}
    assert study.outcome().tolist() == DECIDED["lent"].tolist()


def test_what_was_found_is_suggested_and_how_good_it_is_is_not(plain_console: Operating) -> None:
    path = uploaded(plain_console, csv(DECIDED))
    page = plain_console.post(path, **{**CHOSEN, "kind": "tiers"})
    assert "Say what may be decided, at least two things" in problem(page)
    assert [value(page, f"decision-label-{row}") for row in range(4)] == [*LABELS, ""]
    assert [value(page, f"decision-words-{row}") for row in range(4)] == [*LABELS, ""]
    assert [value(page, f"decision-value-{row}") for row in range(4)] == [""] * 4
    empty = {"amount-least": "", "amount-most": ""}
    page = plain_console.post(path, **{**AMOUNT, **empty})
    assert "The least amount: '' is no number" in problem(page)
    lent = DECIDED["lent"]
    assert [float(value(page, f"amount-{end}")) for end in ("least", "most")] == [lent.min(), lent.max()]


def test_a_column_that_can_be_no_outcome_cannot_be_chosen(plain_console: Operating) -> None:
    table = DECIDED.assign(town=["", *DECIDED["town"][1:]])
    page = plain_console.get(uploaded(plain_console, csv(table)))
    options = page.text.partition('<select id="outcome"')[2].partition("</select>")[0]
    closed = re.findall(r"<option[^>]* disabled>([a-z]+)", options)
    assert closed == ["person", "town", "same"]  # a word for each, empty for one, all alike


@pytest.mark.parametrize(
    ("chosen", "change", "said"),
    [
        (TIERS, {"decision-value-0": ""}, "How good is “released under conditions” for the person? give a number"),
        (TIERS, {"decision-value-0": "1.5"}, "'1.5' is no answer; give a number from 0 to 1, such as 0.6"),
        (TIERS, {"decision-value-0": "good"}, "'good' is no answer; give a number from 0 to 1"),
        (TIERS, {"decision-words-1": ""}, "The decision “deny”: say what it is in the participants' words"),
        (TIERS, {"decision-label-1": ""}, "The decision “kept in prison”: say what it is as it is written in the file"),
        (TIERS, {"decision-value-1": "1", "decision-value-0": "1"}, "decisions: every value is 1"),
        (TIERS, {"decision-label-1": "denied"}, "column good: 'deny' is not among the decisions"),
        (TIERS, {"kind": "yes-no", "treated_well": "to be free"}, "column good: 3 different values"),
        (AMOUNT, {"amount-most": "many"}, "The largest amount: 'many' is no number"),
        (AMOUNT, {"amount-most": "20,000"}, "The largest amount: '20,000' is no number; write it in digits, such as"),
        (AMOUNT, {"amount-most": "0"}, "amount: least = 0 and most = 0: the least must be below the most"),
        (AMOUNT, {"amount-most": "7250"}, "column lent: 20000.0 is no amount that may be decided"),
        (AMOUNT, {"outcome": "3"}, "is no amount that may be decided"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_lost(
    plain_console: Operating, chosen: dict[str, str], change: dict[str, str], said: str
) -> None:
    path = uploaded(plain_console, csv(DECIDED))
    page = plain_console.post(path, **{**chosen, **change})
    assert page.status_code == 422
    assert said in problem(page)
    assert not (plain_console.site.host.path / "study.toml").exists()
    for name, text in {**chosen, **change}.items():
        if name.startswith(("decision-", "amount-")) and name != "amount-better":
            assert value(page, name) == text
    assert plain_console.post(path, **chosen).url.path == "/admin/study"


def saved(console: Operating, part: str, **fields: str) -> Response:
    token = re.search(r'name="token" value="([^"]+)"', console.get(f"/study/{part}").text)
    assert token is not None
    return console.post(f"/study/{part}", token=token[1], **fields)


def rows_of(study: StudyFolder) -> dict[str, str]:
    return {
        f"decisions.{k}.{name}": str(text)
        for k, decision in enumerate(study.settings.decisions)
        for name, text in decision.model_dump().items()
    }


def test_the_editor_changes_words_and_refuses_what_does_not_suit_the_outcomes(plain_console: Operating) -> None:
    plain_console.post(uploaded(plain_console, csv(DECIDED)), **TIERS, **{"also-de": "yes"})
    home = plain_console.site.host.path
    rows = rows_of(StudyFolder.open(home))
    page = saved(plain_console, "decisions", **{**rows, "decisions.1.words": "in jail", "decisions.0.value": "0,5"})
    assert "done=saved" in str(page.url), problem(page)
    study = StudyFolder.open(home)
    assert study.settings.tiers == ((WORDS[2],), (WORDS[0],), ("in jail",))
    assert study.settings.label_values == {"conditions": 0.5, "deny": 0, "release": 1}
    without = {name: text for name, text in rows.items() if not name.startswith("decisions.1")}
    assert "'deny' is not among the decisions" in problem(saved(plain_console, "decisions", **without))
    page = saved(plain_console, "decisions", **{**rows, "decisions.0.value": "half"})
    assert "'half' is not a number, such as 0.5" in problem(page)
    assert "there are 3 different outcomes" in problem(saved(plain_console, "decisions"))
    # Words in another language stand beside them, under their labels.
    german = {"decisions.0": "frei mit Auflagen", "decisions.1": "in Haft", "decisions.2": "frei"}
    assert "done=saved" in str(saved(plain_console, "words-de", **german).url)
    assert StudyFolder.open(home).editions["de"].settings.tiers == (("frei",), ("frei mit Auflagen",), ("in Haft",))
    more = {"decisions.3.label": "bail", "decisions.3.words": "on bail", "decisions.3.value": "0.7"}
    assert "done=saved" in str(saved(plain_console, "decisions", **rows, **more).url)
    assert [words for (words,) in StudyFolder.open(home).settings.tiers][1] == "on bail"


def test_the_editor_changes_the_unit_of_an_amount(plain_console: Operating) -> None:
    plain_console.post(uploaded(plain_console, csv(DECIDED)), **AMOUNT)
    said = {"amount.unit": "marks", "amount.least": "0", "amount.most": "25000", "amount.better": "less"}
    assert "done=saved" in str(saved(plain_console, "decisions", **said).url)
    study = StudyFolder.open(plain_console.site.host.path)
    assert study.settings.amount is not None
    assert study.settings.amount.model_dump() == {"unit": "marks", "least": 0, "most": 25_000, "better": "less"}
    assert study.settings.treated_well == "getting a smaller amount"
    assert "the least must be below" in problem(saved(plain_console, "decisions", **{**said, "amount.most": "-1"}))
