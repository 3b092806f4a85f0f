"""The report as files: templates filled in, with one style, one script, and a policy that allows nothing else.

Also what a model says of itself, its rules, its proof and what it breaks, in the language of a report.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from fairwise import templates
from fairwise.auditing.findings import Findings
from fairwise.auditing.intervals import LEAST_JUDGES, LEAST_PAIRS
from fairwise.errors import InputError
from fairwise.messages import marked
from fairwise.numbers import share_difference
from fairwise.reporting.annex_figures import SHARES, at_share, has_any, in_order
from fairwise.reporting.figures import FEW_PEOPLE, MOST_GROUPS, draw_figures
from fairwise.reporting.first_page import affected, message
from fairwise.reporting.words import ENGLISH, ErrorWords, TreatmentWords, Words, capitalised, languages, words_in
from fairwise.results.fits import ModelRuleTexts

if TYPE_CHECKING:
    from jinja2 import Environment

    from fairwise.auditing.findings import Findings
    from fairwise.reporting.drawing import Drawing
    from fairwise.reporting.words import Words


# Longer tables are folded on the screen, and open on paper.
LONG_TABLE = 15
MOST_RULES = 20  # whoever wants more of a model's rules wants them in a file
_FILTERS = (
    *("percent", "in_100", "points", "points_above", "largest_difference", "decimal", "interval", "listed", "counted"),
    *("people", "coefficient", "setting", "answer", "design", "group", "price", "sentence", "answers", "design_name"),
)

SECTIONS = (
    ("message", marked("In short")),
    ("who", marked("Who was asked")),
    ("asked", marked("What they asked for")),
    ("decisions", marked("What is decided")),
    ("amounts", marked("Who gets how much")),
    ("gains", marked("Who gains, who loses")),
    ("dearest", marked("The most expensive pairs")),
    ("limits", marked("What this does not show")),
)
ANNEX = (
    ("method", marked("Settings and words")),
    ("cost", marked("What other settings would cost")),
    ("agreement", marked("How far participants agree, and how steady they are")),
    ("judges", marked("What each participant gets")),
    ("spread", marked("How unevenly it is spread")),
    ("groups", marked("Groups of people in full")),
    ("rules", marked("The model in rules")),
    ("proof", marked("What is proved, and what is not")),
    ("again", marked("How to repeat this")),
)
TALKING = ("talking", marked("What talking did"))


def render(
    findings: Findings,
    drawings: dict[str, Drawing] | None = None,
    *,
    language: str = "en",
    case_details: bool = False,
) -> str:
    """The report as one HTML page that needs nothing else; the options are those of :func:`write_report`."""
    words = _words(language)
    findings = findings_in(findings, words)
    drawn = draw_figures(findings, words, named=case_details) if drawings is None else drawings
    gains, errors = findings.gains, ErrorWords(findings.measure, words)
    error, plain, _ = findings.headline.compared
    few = (
        []
        if gains is None
        else gains.loc[(gains["people"] < FEW_PEOPLE) & (gains["group"] != ""), "group"].map(words.group).tolist()
    )
    return render_page(
        "report.html",
        "sections",
        [one for one in SECTIONS if one[0] not in ("decisions", "amounts") or getattr(findings, one[0]) is not None],
        annex=ANNEX if findings.effects is None else (*ANNEX, TALKING),
        words=words,
        simulated=findings.simulated,
        notice=words.some_simulated(findings.panel.n_simulated, findings.panel.n_judges),
        f=findings,
        message=message(findings, words),
        affected=affected(findings.headline, words),
        errors=errors,
        treatment=TreatmentWords(findings, words),
        costs=plain is not None and errors.shows(error, plain) > 0,
        few=few,
        crowded=gains is not None and bool((gains["attribute"].value_counts() > MOST_GROUPS).any()),
        named=case_details,
        figures=drawn,
        judges=in_order(findings.audit.by_judge).merge(
            findings.price_by_judge[["price"]], how="left", left_on="judge", right_index=True
        ),
    )


def _words(language: str) -> Words:
    if language not in languages():
        raise InputError(f"language: no report in {language!r}; there are {', '.join(languages())}")
    return words_in(language)


def render_page(
    template: str,
    folder: str,
    sections: Sequence[tuple[str, str]],
    *,
    simulated: bool,
    annex: Sequence[tuple[str, str]] = (),
    words: Words = ENGLISH,
    package: str = "fairwise.reporting",
    **content: object,
) -> str:
    """A page of several sections, each a template of that name in ``folder`` of a package, with its heading."""
    style, script = _resource("report.css"), _resource("report.js")
    page = _environment(package, words).get_template(template)
    return page.render(
        folder=folder,
        sections=sections,
        annex=annex,
        simulated=simulated,
        version=version("fairwise"),
        style=style,
        script=script,
        policy=content_security_policy(style, script),
        **content,
    )


def content_security_policy(style: str, script: str) -> str:
    """Allow this style and this script, by their contents, and no address at all."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _environment(package: str, words: Words) -> Environment:
    catalogue = words.language.catalogue
    environment = templates.environment(package, "fairwise.reporting", trim=False, catalogue=catalogue)
    environment.filters |= {name: getattr(words, name) for name in _FILTERS} | {
        "above": share_difference,
        "capitalised": capitalised,
        "shown": words.value,
        "breakable": _breakable,
        "records": _records,
        "by_knob": _by_knob,
        "knob_value": lambda value, symbol: f"{symbol} = {words.setting(value)}",
        "by_attribute": _by_attribute,
        "has_any": has_any,
        "at_share": at_share,
    }
    environment.globals |= {
        "language": words.language,
        "LONG_TABLE": LONG_TABLE,
        "MOST_RULES": MOST_RULES,
        "FEW_PEOPLE": FEW_PEOPLE,
        "MOST_GROUPS": MOST_GROUPS,
        "LEAST_JUDGES": LEAST_JUDGES,
        "LEAST_PAIRS": LEAST_PAIRS,
        "SHARES": SHARES,
    }
    return environment


def _breakable(name: object) -> Markup:
    """A name that may be broken after an underscore and the like, rather than anywhere."""
    parts = re.split(r"(?<=[_./:-])(?=.)", str(name))
    return Markup("<wbr>").join(escape(part) for part in parts)


def _records(table: pd.DataFrame) -> list[dict[str, object]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _by_attribute(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(str(name), rows) for name, rows in table.groupby("attribute", sort=False)]


def _by_knob(rows: pd.DataFrame, knob: str) -> pd.DataFrame:
    """A line per judge, a column per value of the knob."""
    return rows.pivot_table(index="judge", columns=knob, values="error", sort=False)


def _resource(name: str) -> str:
    return files("fairwise.reporting").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def write_report(
    findings: Findings,
    path: str | PathLike[str],
    figures: str | PathLike[str] | None = None,
    *,
    language: str = "en",
    case_details: bool = False,
) -> list[Path]:
    """Write the report as one HTML file; with ``figures``, its figures (SVG) and numbers (CSV) to that folder, too.

    ``language`` is a code, ``en`` or ``de``. With ``case_details`` the page and its figures also name ids of people and
    of participants, and show columns of free text; the tables in the folder always name ids. The same findings give
    the same bytes. Returns the files written.
    """
    words = _words(language)
    drawings = draw_figures(findings_in(findings, words), words, named=case_details)
    contents = {Path(path): render(findings, drawings, language=language, case_details=case_details)}
    if figures is not None:
        folder = Path(figures)
        contents |= {folder / f"{name}.svg": drawing.standalone() for name, drawing in drawings.items()}
        contents |= {folder / f"{name}.csv": csv_text(table) for name, table in tables(findings).items()}
    return write_files(contents)


def write_files(contents: dict[Path, str]) -> list[Path]:
    """Write texts to files, in folders that are made where they are missing; returns the files."""
    try:
        for file, text in contents.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8", errors="replace"))
    except OSError as error:
        where = error.filename or next(iter(contents))
        raise InputError(f"{where}: cannot be written: {error.strerror or error}") from None
    return list(contents)


def tables(findings: Findings) -> dict[str, pd.DataFrame]:
    """Every number of the report, one table a file; those that there are."""
    audit = findings.audit
    spread = {"price": findings.lorenz_price, "excess": findings.lorenz_excess}
    every = {
        "overall": audit.overall.T.rename_axis("measure").reset_index(),
        "judges": audit.by_judge.merge(
            findings.price_by_judge[["price"]], how="left", left_on="judge", right_index=True
        ),
        "judge_attributes": audit.by_attribute,
        "pairs": audit.by_pair,
        "judgments": findings.prices,
        "prices_by_person": findings.price_by_person.reset_index(),
        "lorenz": pd.concat([curve.assign(of=name) for name, curve in spread.items()], ignore_index=True),
        "groups": audit.by_group,
        "group_gaps": audit.group_gaps,
        "group_gains": findings.gains,
        "decisions": _with_words(findings),
        "amounts": None if findings.amounts is None else findings.amounts.table,
        "frontier": None if findings.curve is None else findings.curve.whole,
        "without_judges": None
        if findings.influence is None
        else findings.influence.tables()["judges"].rename(columns={"who": "judge"}),
    }
    return {name: table for name, table in every.items() if table is not None and len(table)}


def _with_words(findings: Findings) -> pd.DataFrame | None:
    """Return who gets which decision, by name and with its value."""
    if findings.decisions is None:
        return None
    table, labels = findings.decisions, findings.labels
    places = table["decision"].to_numpy()
    named = table.assign(decision=np.array(labels.words, dtype=object)[places])
    return named.assign(value=np.array(labels.label_values, dtype=float)[places])


def csv_text(table: pd.DataFrame) -> str:
    """The table as a file for any program."""
    return table.to_csv(index=False, lineterminator="\n")


def findings_in(findings: Findings, words: Words) -> Findings:
    """Return the findings with the model's rules, and outcomes without words of their own, in a language."""
    labels, guess = tuple(_outcomes(findings, words)), findings.guess_label
    told = dict(zip(findings.labels.words, labels, strict=True))  # two may have the same words
    return replace(
        findings,
        labels=replace(findings.labels, words=labels),
        guess_label=None if guess is None else told.get(guess, guess),
        rules=findings.rules.in_language(words.translate, words.language.decimal, labels),
    )


def rule_texts(findings: Findings, words: Words, most: int) -> ModelRuleTexts:
    """Return the model as rules in a language, at most so many."""
    rules = findings_in(findings, words).rules
    texts = rules.heaviest(most)
    return ModelRuleTexts(rules.lead, tuple(texts), len(rules.texts()) - len(texts), tuple(rules.notes()))


def _outcomes(findings: Findings, words: Words) -> list[str]:
    if findings.amounts is None:
        return [words.sentence(label) for label in findings.labels.words]
    told = TreatmentWords(findings, words)
    return [told.quantity(amount) for amount in findings.amounts.grid]
