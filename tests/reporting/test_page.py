"""The page is safe, self-contained, complete and always the same."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.reporting import Findings, findings
from fairwise.reporting.page import ANNEX, MOST_RULES, SECTIONS, render

URLS = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")


class Page(HTMLParser):
    """Every element with its attributes, and the text that a reader sees."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.raw: dict[str, list[str]] = {"style": [], "script": []}
        self._open = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._open = ""

    def handle_data(self, data: str) -> None:
        self.raw.get(self._open, self.words).append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page(complete: Findings) -> Page:
    return Page(render(complete))


@pytest.fixture(scope="module")
def nasty_page(nasty: Findings) -> Page:
    return Page(render(nasty))


def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page(page: Page) -> None:
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (text,) = page.raw[tag]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy


@pytest.mark.parametrize("which", ["page", "nasty_page"])
def test_nothing_that_the_policy_would_block(which: str, request: pytest.FixtureRequest) -> None:
    page: Page = request.getfixturevalue(which)
    for tag, attributes in page.elements:
        assert "style" not in attributes, (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        for name in URLS:
            assert attributes.get(name, "#").startswith(("#", "data:,")), (tag, attributes)
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert not re.search(r"@import|url\((?!#)", page.raw["style"][0])


@pytest.mark.parametrize("which", ["page", "nasty_page"])
def test_every_id_is_there_once_and_every_reference_leads_somewhere(which: str, request: pytest.FixtureRequest) -> None:
    page: Page = request.getfixturevalue(which)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        named = [attributes[name] for name in ("aria-labelledby", "aria-describedby") if name in attributes]
        linked = [attributes["href"][1:] for _ in [0] if attributes.get("href", "").startswith("#")]
        clipped = re.findall(r"url\(#([^)]+)\)", " ".join(attributes.values()))
        assert {*named, *linked, *clipped} <= set(ids), attributes


def test_text_of_others_is_text(nasty_page: Page) -> None:
    assert nasty_page.text.count("<script>alert(1)</script>") > 10
    assert all("onclick" not in attributes for attributes in nasty_page.all("b"))


def test_the_same_findings_give_the_same_bytes(complete: Findings, found: Callable[..., Findings]) -> None:
    again = found(question=complete.question, date=complete.date)
    assert render(again) == render(complete)


def test_headings_go_down_one_step_at_a_time(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_section_is_in_the_contents(page: Page) -> None:
    sections = [section["id"] for section in page.all("section")]
    links = [link["href"][1:] for link in page.all("a") if link["href"] != "#main"]
    assert sorted(sections) == sorted(links)
    assert sections == [name for name, _ in (*SECTIONS, *ANNEX) if name not in ("decisions", "amounts")]


def test_the_model_is_there_in_rules(page: Page, complete: Findings, found: Callable[..., Findings]) -> None:
    assert complete.rules.lead in page.text
    shown = complete.rules.heaviest(MOST_RULES)
    assert any(text.lines for text in shown)
    assert all(line in page.text for text in shown for _, line in text.lines)
    assert all(note in page.text for note in complete.rules.notes())
    html = render(found(columns={"priors_count": "Earlier offences"}, labels={0: "free", 1: "<held>"}))
    assert "Earlier offences is at most" in html
    assert "&lt;held&gt;" in html
    for tag in ("ol", "li", "details"):
        assert html.count(f"<{tag}>") + html.count(f"<{tag} ") == html.count(f"</{tag}>")


def test_tables_have_captions_and_scopes(page: Page) -> None:
    assert len(page.all("caption")) == len(page.all("table")) > 10
    assert all(cell.get("scope") in {"row", "col"} for cell in page.all("th"))


def test_every_figure_is_described(page: Page) -> None:
    drawn = page.all("svg")
    assert len(drawn) == 8
    assert all(svg["role"] == "img" for svg in drawn)
    assert len(page.all("figcaption")) == 8


def test_numbers_are_those_of_the_model(complete: Findings, page: Page, study: dict[str, Any]) -> None:
    certificate = study["model"].certificate_
    plain = PairwiseFairClassifier("tree").fit(study["people"], study["outcome"]).certificate_.error
    assert complete.plain_error == pytest.approx(plain)
    assert f"{100 * certificate.error:.1f}\N{NO-BREAK SPACE}%" in "".join(page.words)
    assert f"{100 * plain:.1f}\N{NO-BREAK SPACE}%" in "".join(page.words)


def test_intervals_that_are_not_covered_are_marked(complete: Findings, page: Page) -> None:
    kinds = complete.audit.by_attribute
    marked = sum(
        int((kinds[f"{name}_low"].notna() & ~kinds[f"{name}_covered"]).sum())
        for name in ("share_followed", "mean_excess")
    )
    assert marked > 0
    assert page.text.count(" *") == marked
    assert "An asterisk (*) marks a rough guide: with fewer than 5 participants" in " ".join(page.text.split())


def test_simulated_people_are_called_so(page: Page, found: Callable[..., Findings]) -> None:
    assert "Simulated people: no real person was asked" in page.text
    assert page.text.count("(simulated people)") == 1 + len(page.all("svg"))  # the page's title and every figure's
    real = replace(found(), panel=replace(found().panel, n_simulated=0))
    assert "simulated people" not in Page(render(real)).text.lower().replace("simulated-", "")


def test_figures_say_that_some_people_are_simulated(found: Callable[..., Findings]) -> None:
    panel = found().panel
    mixed = replace(found(), panel=replace(panel, n_simulated=1))
    figures = re.findall("<svg.*?</svg>", render(mixed), flags=re.DOTALL)
    assert figures
    assert all(f"1 of the {panel.n_judges} participants is simulated" in figure for figure in figures)


@pytest.mark.parametrize("given", ["attribute", "name", "column"])
def test_what_happened_to_people_is_nowhere(given: str, study: dict[str, Any]) -> None:
    people, outcome = study["people"], study["outcome"].rename("whathappened")
    table = people.assign(whathappened=outcome) if given != "name" else people
    model = study["model"]
    if given == "attribute":  # fitted, by mistake, with the outcome among the features
        model = PairwiseFairClassifier("tree", gamma=0.3, favorable_label=0, max_depth=1)
        model.fit(table, outcome, judgments=study["judgments"].about(table))
    report = findings(model, table, study["judgments"], outcome, groups=["sex"])
    assert report.dearest
    # That a rule asks about it says nothing about anyone, and shows the mistake.
    rules = re.compile(r'<section id="rules".*?</section>', flags=re.DOTALL)
    page = render(report, case_details=True)
    assert ("whathappened" in rules.findall(page)[0]) == (given == "attribute")
    assert "whathappened" not in rules.sub("", page)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        (None, "Whether such decisions affect them is not known."),
        ({"ann": {"relation": "affected"}, "bea": {"relation": "expert"}}, "them is not known."),
        ({"ann": {"affected": "no"}, "bea": {"affected": False}}, "None of the 2 is affected."),
        ({"ann": {"affected": "Yes"}, "bea": {"affected": "no"}}, "1 of the 2 is affected too."),
        ({"ann": {"affected": True}}, "Such decisions affect 1 of the 2, and not 0; of 1 that is not known."),
    ],
)
def test_whether_anyone_affected_was_asked(attributes: Any, words: str, study: dict[str, Any]) -> None:
    people, outcome = study["people"], study["outcome"]
    a, b, c = people.index[:3]
    rows = [("ann", a, b), ("bea", b, c)]
    said = [{"judge": judge, "a": left, "b": right, "answer": "same"} for judge, left, right in rows]
    judgments = Judgments(said, people=people, judge_attributes=attributes)
    model = PairwiseFairClassifier("tree", max_depth=1).fit(people, outcome, judgments=judgments)
    assert words in Page(render(findings(model, people, judgments))).text


def test_a_panel_of_one_that_asks_for_nothing(study: dict[str, Any]) -> None:
    people, outcome = study["people"], study["outcome"]
    said = [{"judge": "ann", "a": people.index[0], "b": people.index[1], "answer": "no_constraint"}]
    judgments = Judgments(said, people=people)
    model = PairwiseFairClassifier("tree", max_depth=1).fit(people, outcome, judgments=judgments)
    page = Page(render(findings(model, people, judgments)))
    assert "1 person was asked, and asked for nothing." in page.text
    assert "No pair costs anything: nobody asked for anything." in page.text
    assert "This report was made without the curve" in page.text
    assert [svg["aria-labelledby"] for svg in page.all("svg")] == ["message-title", "wishes-title"]
    assert "nan" not in page.text.lower().split()


def test_measures_of_repeats_sides_and_checks(study: dict[str, Any]) -> None:
    people, outcome = study["people"], study["outcome"]
    a, b, c, d = people.index[:4]
    rows = [
        {"judge": "ann", "a": a, "b": b, "answer": "a_at_least_b", "design": "uniform"},
        {"judge": "ann", "a": b, "b": a, "answer": "a_at_least_b", "design": "repeat"},
        {"judge": "bea", "a": a, "b": b, "answer": "b_at_least_a", "design": "uniform"},
        {"judge": "bea", "a": c, "b": d, "answer": "no_constraint", "design": "check"},
    ]
    judgments = Judgments(rows, people=people)
    model = PairwiseFairClassifier("tree", max_depth=1, favorable_label=0).fit(people, outcome, judgments=judgments)
    text = Page(render(findings(model, people, judgments))).text
    assert "0 of 1 repeated pairs got the same answer again" in text
    assert "1 of 2 answers that favour one person favour the one on the left" in text
    assert "1 of 1 pairs of identical records were not called the same" in text
    assert "On 1 of 1 pair that several participants answered" in text
    assert "1 pair was answered differently by the same participant" in text


def test_the_columns_used_are_named_and_protected_ones_warned_of(
    study: dict[str, Any], found: Callable[..., Findings]
) -> None:
    text = Page(render(found(protected=["priors_count"]))).text
    assert "The model looks at this: " in text
    assert "The model looks at sex, race and priors_count, which are protected or divide people into the groups" in text
    assert "The model looks at age, which by its name looks like what the law often protects" in text
    people, outcome, judgments = (study[name] for name in ("people", "outcome", "judgments"))
    model = PairwiseFairClassifier("tree", gamma=0.1, favorable_label=0, features=["priors_count"])
    model.fit(people, outcome, judgments=judgments)
    text = Page(render(findings(model, people, judgments, columns={"sex": "Sex", "age": "Age"}))).text
    assert "The model looks at this: priors_count. It was not allowed to use " in text
    assert "Sex" in text
    assert "Please note" not in text
