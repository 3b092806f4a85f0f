"""Studies about several decisions or about amounts: what they say of themselves, and which outcomes suit them."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.study.design import Amount, Decision, best_first, check_outcome
from fairwise.study.folder import OUTCOME, StudyFolder
from fairwise.study.new_study import new_study
from fairwise.study.settings import StudySettings
from fairwise.study.texts import available, language
from fairwise.tables.files import PeopleFile
from fairwise.tables.rows import Source

if TYPE_CHECKING:
    from pathlib import Path

LEAST: dict[str, Any] = {"title": "t", "columns": [{"name": "age", "label": "Age"}]}
THREE = [
    {"label": "deny", "words": "kept in prison", "value": 0},
    {"label": "release", "words": "released", "value": 1},
    {"label": "conditions", "words": "released under conditions", "value": 0.6},
]
AMOUNT = {"unit": "DM", "least": 0, "most": 20_000, "better": "more"}


def settings_of(**more: Any) -> StudySettings:
    return StudySettings.checked({**LEAST, **more}, "study")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Thirty people whose outcomes are three decisions and, in another column, an amount."""
    labels = ["deny", "conditions", "release"]
    table = pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(30)],
            "age": [20 + (7 * k) % 30 for k in range(30)],
            "decided": [labels[k * k % 7 % 3] for k in range(30)],
            "lent": [250.5 * (k * k % 11) for k in range(30)],
        }
    )
    table.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def made(people: Path, outcome: str, **settings: Any) -> StudyFolder:
    choices = {"title": "t", "pairs": 3, **settings}
    return new_study(people.parent / "study", PeopleFile.read(people, "id"), ["age"], choices, outcome=outcome)


def test_what_is_said_of_decisions_comes_back() -> None:
    for more in ({"decisions": THREE}, {"amount": AMOUNT}):
        settings = settings_of(**more)
        assert StudySettings.checked(tomllib.loads(settings.toml()), "again") == settings
    assert settings_of(decisions=THREE).label_values == {"deny": 0, "release": 1, "conditions": 0.6}
    assert settings_of(amount=AMOUNT).label_values is None


def test_a_study_about_two_decisions_says_nothing_of_it() -> None:
    text = settings_of().toml()
    assert "[amount]" not in text
    assert "[[decisions]]" not in text
    assert (settings_of().outcome_kind, settings_of().tiers, settings_of().label_values) == ("yes-no", (), None)


@given(st.lists(st.integers(0, 10), min_size=2, max_size=8))
def test_words_come_from_best_to_worst(tenths: list[int]) -> None:
    decisions = [Decision(label=str(k), words=f"w{k}", value=tenth / 10) for k, tenth in enumerate(tenths)]
    value = {one.words: one.value for one in decisions}
    tiers = best_first(decisions)
    assert [[value[word] for word in tier] for tier in tiers] == [
        [share] * tenths.count(round(10 * share)) for share in sorted(set(value.values()), reverse=True)
    ]


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"decisions": THREE, "amount": AMOUNT}, "decisions and amount are both given"),
        ({"decisions": THREE[:1]}, "decisions: one is no choice"),
        ({"decisions": [{**row, "value": 0.5} for row in THREE]}, "decisions: every value is 0.5, so that nobody"),
        ({"decisions": [{**row, "words": "w"} for row in THREE]}, "two decisions have the words 'w'"),
        ({"decisions": [*THREE, THREE[0]]}, "two decisions have the label 'deny'"),
        ({"decisions": [{**THREE[0], "value": 1.2}, THREE[1]]}, "decisions.1.value = 1.2: Input should be less"),
        ({"decisions": [{**THREE[0], "value": float("nan")}, THREE[1]]}, "decisions.1.value = nan: Input should"),
        (
            {"decisions": [{"label": str(k), "words": f"w{k}", "value": k / 20} for k in range(13)]},
            "decisions: 13 of them; at most 12",
        ),
        ({"amount": {**AMOUNT, "most": 0}}, "amount: least = 0 and most = 0: the least must be below the most"),
        ({"amount": {**AMOUNT, "most": float("inf")}}, "amount.most = inf: Input should be a finite number"),
        ({"amount": {**AMOUNT, "better": "most"}}, "amount.better = 'most': Input should be 'more' or 'less'"),
    ],
)
def test_decisions_between_which_nobody_could_choose_are_refused(more: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError) as caught:
        settings_of(**more)
    assert str(caught.value).startswith(f"study: {part}")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "getting the more favourable of the two possible decisions"),
        ({"decisions": THREE}, "getting a better decision"),
        ({"amount": AMOUNT}, "getting a larger amount"),
        ({"amount": {**AMOUNT, "better": "less"}}, "getting a smaller amount"),
    ],
)
def test_the_usual_words_suit_what_is_decided(more: dict[str, Any], words: str) -> None:
    assert settings_of(**more).treated_well == words
    two = settings_of().model_dump(mode="json")  # as a file says it that was about two decisions before
    assert StudySettings.checked({**two, **more}, "study").treated_well == words
    assert settings_of(treated_well="to be free", **more).treated_well == "to be free"
    for code in available():
        assert settings_of(languages=[code], **more).treated_well == language(code).translate(words)


def test_outcomes_are_labels_as_text(people: Path) -> None:
    study = made(people, "decided", decisions=THREE)
    outcome = study.outcome()
    assert outcome.tolist() == pd.read_csv(people)["decided"].tolist()
    assert set(outcome) == {"deny", "conditions", "release"}


def test_a_decision_may_be_nobodys_outcome(people: Path) -> None:
    table = pd.read_csv(people)
    table.assign(decided=[k % 2 for k in range(30)], age=[20 + k // 2 for k in range(30)]).to_csv(people, index=False)
    decisions = [{**row, "label": label} for row, label in zip(THREE, ("1", "0", "never"), strict=True)]
    study = made(people, "decided", decisions=decisions)
    assert study.outcome().tolist() == [str(k % 2) for k in range(30)]


def test_amounts_are_numbers(people: Path) -> None:
    study = made(people, "lent", amount=AMOUNT)
    assert study.outcome().tolist() == pd.read_csv(people)["lent"].tolist()
    values = study.settings.amount.values(study.outcome())  # type: ignore[union-attr]
    assert values.tolist() == pytest.approx([amount / 20_000 for amount in study.outcome()])
    less = Amount(**{**AMOUNT, "better": "less"})  # type: ignore[arg-type]
    assert less.values(study.outcome()).tolist() == pytest.approx((1 - values).tolist())


@pytest.mark.parametrize(
    ("outcome", "settings", "part"),
    [
        (
            "decided",
            {"decisions": THREE[:2]},
            "column decided: 'conditions' is not among the decisions; allowed: 'deny', 'release'",
        ),
        (
            "lent",
            {"amount": {**AMOUNT, "most": 2000}},
            "column lent: 2254.5 is no amount that may be decided; allowed: a number from 0 to 2000",
        ),
        ("decided", {"amount": AMOUNT}, "column decided: 'deny' is no amount that may be decided"),
    ],
)
def test_outcomes_that_cannot_be_are_refused_with_their_line(
    people: Path, outcome: str, settings: dict[str, Any], part: str
) -> None:
    with pytest.raises(InputError) as caught:
        made(people, outcome, **settings)
    assert part in str(caught.value)
    assert f"{people}, line " in str(caught.value)
    assert not (people.parent / "study").exists()


@pytest.mark.parametrize("amount", [None, float("nan"), float("inf"), "many", 20_000.5, -1])
def test_no_amount_is_no_outcome(amount: object) -> None:
    column = pd.Series([1.0, amount], name="lent", dtype=object)
    with pytest.raises(InputError, match=r"row 1 .*, column lent"):
        check_outcome(column, Source(labels=column.index), (), Amount(**AMOUNT))  # type: ignore[arg-type]


def test_outcomes_are_checked_again_when_they_are_read(people: Path) -> None:
    study = made(people, "decided", decisions=THREE)
    file = study.path / OUTCOME
    table = pd.read_parquet(file)
    table.loc[4, "decided"] = "forgiven"
    table.to_parquet(file)
    with pytest.raises(InputError, match=r"outcome.parquet, .*'p4'.*column decided: 'forgiven' is not among"):
        study.outcome()


def test_what_decisions_are_worth_belongs_to_the_study_and_words_do_not(people: Path) -> None:
    study = made(people, "decided", decisions=THREE)
    file = study.path / "study.toml"
    text = file.read_text(encoding="utf-8")

    def fingerprint(old: str, new: str) -> str:
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")
        return StudyFolder.open(study.path).fingerprint

    assert fingerprint("kept in prison", "in prison") == study.fingerprint
    assert fingerprint("value = 0.6", "value = 0.5") != study.fingerprint
    assert fingerprint('label = "conditions"', 'label = "other"') != study.fingerprint


def test_words_of_decisions_are_translated_like_others(people: Path) -> None:
    study = made(people, "decided", decisions=THREE, languages=["en", "de"])
    german = study.editions["de"]
    assert (
        "study.de.toml: the decision “released” is not translated; Deutsch is not offered until it is"
        in german.unfinished
    )
    draft = study.path / "study.de.toml"
    assert '[decisions]\n# deny = "kept in prison"' in draft.read_text(encoding="utf-8")
    words = '[decisions]\ndeny = "in Haft"\nrelease = "frei"\nconditions = "frei mit Auflagen"\n'
    rest = 'title = "T"\n[columns.age]\nlabel = "Alter"\n'
    draft.write_text(f"{rest}{words}", encoding="utf-8")
    german = StudyFolder.open(study.path).editions["de"]
    assert german.settings.tiers == (("frei",), ("frei mit Auflagen",), ("in Haft",))
    assert german.settings.treated_well == "eine günstigere Entscheidung zu erhalten"
    assert german.settings.label_values == study.settings.label_values
    assert german.is_complete
    draft.write_text(f"{rest}[decisions]\nforgive = 'x'\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"decisions.forgive: there is no such decision; study.toml has deny, release"):
        StudyFolder.open(study.path)


def test_the_unit_of_amounts_is_translated(people: Path) -> None:
    study = made(people, "lent", amount={**AMOUNT, "unit": "marks"}, languages=["en", "de"])
    draft = study.path / "study.de.toml"
    assert '[amount]\n# unit = "marks"' in draft.read_text(encoding="utf-8")
    assert any("the unit “marks” of amounts is not translated" in note for note in study.unfinished)
    draft.write_text("[amount]\nunit = 'Mark'\n", encoding="utf-8")
    edition = StudyFolder.open(study.path).editions["de"]
    assert edition.settings.amount is not None
    assert edition.settings.amount.read_in(edition.language) == ("0", "20.000 Mark")
    assert Amount(least=0.25, most=1_000_000.5).read_in(language("en")) == ("0.25", "1,000,000.5")
