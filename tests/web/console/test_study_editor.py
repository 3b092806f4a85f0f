"""Editing a study in the browser: checked as a whole, changed at once, and never over somebody else's change."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.editing import change, fields, served
from tests.support.operating import Operating, operating

from fairwise.store.schema import events, participants
from fairwise.store.study_state import set_state
from fairwise.study.design import Arm
from fairwise.study.translations import Translation, words_in
from fairwise.tables.files import read_parquet
from fairwise.web.console.study_pages import ChangedMeanwhile, edited, version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def console(make_study: Any, new_database: Callable[[], str | Path]) -> Iterator[Operating]:
    study = make_study(languages=["en", "de"], pairs=6)
    with operating(study.path, new_database()) as opened:
        opened.set_up()
        opened.site.host.store.change_now(lambda c: set_state(c, "paused"))
        yield opened


@pytest.fixture
def plain_console(make_study: Any, tmp_path: Path) -> Iterator[Operating]:
    with operating(make_study(languages=["en", "de"], pairs=6).path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        opened.site.host.store.change_now(lambda c: set_state(c, "paused"))
        yield opened


@pytest.fixture(scope="module")
def shared_console(make_study: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operating]:
    """For tests that leave the study as it is, but for a title in German."""
    home = tmp_path_factory.mktemp("console")
    with operating(make_study(languages=["en", "de"], pairs=6).path, home / "study.sqlite") as opened:
        opened.set_up()
        opened.site.host.store.change_now(lambda c: set_state(c, "paused"))
        yield opened


PARTS = (
    "words",
    "columns",
    "switches",
    "arms",
    "relations",
    "questions",
    "recruitment",
    "pairs",
    "languages",
    "words-de",
    "consent",
    "task-de",
)


@pytest.mark.parametrize("part", PARTS)
def test_saving_what_is_there_changes_nothing(shared_console: Operating, part: str) -> None:
    before = {file.name: file.read_bytes() for file in shared_console.site.host.path.iterdir() if file.is_file()}
    page = change(shared_console, part)
    assert page.status_code == 200, page.text
    assert "Saved." in page.text
    after = {file.name: file.read_bytes() for file in shared_console.site.host.path.iterdir() if file.is_file()}
    assert {name: content for name, content in after.items() if ".sqlite" not in name} == {
        name: content for name, content in before.items() if ".sqlite" not in name
    }


def test_words_texts_and_switches_are_there_at_once(console: Operating) -> None:
    console.post("/state", state="open", sure="yes")
    assert change(console, "words", title="Who goes <home>", **{"answer_words.same": "Equal"}).status_code == 200
    assert "Who goes &lt;home&gt;" in console.client.get("/", headers={"accept-language": "en"}).text
    assert change(console, "consent", text="# Hello\n\nRead *this*.\r\n\r\nAnd that.").status_code == 200
    page = console.client.get("/?lang=en")
    assert "<em>this</em>" in page.text
    assert (served(console).path / "consent.md").read_text() == "# Hello\n\nRead *this*.\n\nAnd that.\n"
    assert change(console, "words-de", title="Wer geht heim").status_code == 200
    assert "Wer geht heim" in console.client.get("/?lang=de").text
    change(console, "switches", ask_why="yes", practice=None)
    settings = served(console).settings
    assert (settings.ask_why, settings.practice, settings.title) == (True, False, "Who goes <home>")
    assert settings.answer_words.same == "Equal"
    noted = console.site.host.store.read_now(lambda c: c.execute(sa.select(events.c.action, events.c.about)).all())
    assert [tuple(row) for row in noted][2:] == [
        ("study changed", part) for part in ("Words", "Consent: English", "Words: Deutsch", "Switches")
    ]
    assert not [*served(console).path.glob(".edit*")]


def test_what_an_operator_wrote_beside_the_settings_stays(plain_console: Operating) -> None:
    home = served(plain_console).path
    for name in ("study.toml", "study.de.toml"):
        text = (home / name).read_text().replace("pairs = 6", "pairs = 6  # as agreed")
        (home / name).write_text(f"{text}\n# Not before March.\n")
    assert change(plain_console, "words", title="Who goes home").status_code == 200
    assert change(plain_console, "pairs", pairs="7").status_code == 200
    assert (
        change(plain_console, "words-de", **{"title": "Wer geht heim", "columns.0.label": "Alter"}).status_code == 200
    )
    written, german = ((home / name).read_text() for name in ("study.toml", "study.de.toml"))
    assert "pairs = 7  # as agreed" in written
    assert all("# Not before March." in text for text in (written, german))
    assert served(plain_console).settings.title == "Who goes home"
    assert served(plain_console).editions["de"].settings.columns[0].label == "Alter"


def test_values_that_are_words_are_translated_or_stay_as_they_are(plain_console: Operating) -> None:
    study = served(plain_console)
    words = words_in(study.settings, read_parquet(study.path / "people.parquet"))
    (name, values), *_ = words.items()
    k = [column.name for column in study.settings.columns].index(name)
    typed = {f"columns.{k}.values.{j}": f"{word} auf Deutsch" for j, word in enumerate(values)}
    assert change(plain_console, "words-de", **typed).status_code == 200
    german = Translation.read(study.path / "study.de.toml", study.settings)
    assert german.columns[name].values == {word: f"{word} auf Deutsch" for word in values}
    first = next(iter(typed))
    assert change(plain_console, "words-de", **{first: "", f"columns.{k}.keep_values": "yes"}).status_code == 200
    german = Translation.read(study.path / "study.de.toml", study.settings)
    assert german.columns[name].values == {word: f"{word} auf Deutsch" for word in values[1:]}
    assert german.columns[name].keep_values is True


def test_what_is_wrong_is_said_at_its_field(plain_console: Operating) -> None:
    rows = {"relations.1.name": "a", "relations.1.words": "A", "relations.2.name": "b"}
    for section, new, path in (
        ("words", {"title": " "}, "title"),
        ("recruitment", {"recruitment.most": "-3"}, "recruitment.most"),
        ("relations", rows, "relations.2.words"),
        ("columns", {"columns.0.place": "9", "columns.1.label": " "}, "columns.1.label"),
    ):
        page = change(plain_console, section, **new)
        assert page.status_code == 422
        assert re.findall(r'<a href="#([^"]*)">[^<]+</a></p>\n</div>', page.text) == [path]
        assert re.findall(r'id="([^"]*)"[^>]* aria-invalid="true"', page.text) == [path]
        assert f'id="{path}-problem"' in page.text


def test_arms(plain_console: Operating) -> None:
    new = {
        "arms.0.name": "usual",
        "arms.1.name": "other",
        "arms.1.question": "Who first?",
        "arms.1.text": "Think.",
        "arms.1.buttons": "reversed",
        "arms.1.share": "2",
        "arms.1.columns.0": None,
    }
    assert change(plain_console, "arms", **new).status_code == 200
    usual, other = served(plain_console).settings.arms
    assert usual == Arm(name="usual")
    assert other == Arm(
        name="other", question="Who first?", text="Think.", buttons="reversed", share=2, columns=("town",)
    )
    assert "English" in plain_console.get("/study").text
    german = {"arms.1.question": "Wer zuerst?", "arms.1.text": "Denken."}
    assert change(plain_console, "words-de", **german).status_code == 200
    assert served(plain_console).editions["de"].in_arm("other").settings.question == "Wer zuerst?"
    for wrong, problem in (
        ({"arms.1.columns.1": None}, "at least one column must be shown"),
        ({"arms.2.name": "usual", "arms.2.buttons": "reversed"}, "two arms have the name &#39;usual&#39;"),
        ({"arms.2.question": "Why?"}, "arms.2.name"),
        ({"arms.1.share": "11"}, "less than or equal to 10"),
    ):
        page = change(plain_console, "arms", **wrong)
        assert page.status_code == 422
        assert problem in page.text
    none = {name: "" for name in fields(plain_console.get("/study/arms")) if name.startswith("arms.")}
    none |= {name: "yes" for name in none if ".reasons" in name or ".columns." in name}
    none |= {"arms.1.columns.0": "yes"} | {f"arms.{k}.buttons": "usual" for k in range(3)}
    assert change(plain_console, "arms", **none).status_code == 200
    assert served(plain_console).settings.arms == ()
    assert "zuerst" not in (served(plain_console).path / "study.de.toml").read_text(encoding="utf-8")


def test_once_people_take_part_only_the_words_of_arms_can_be_corrected(make_study: Any, tmp_path: Path) -> None:
    study = make_study(arms=[{"name": "usual"}, {"name": "other", "question": "Who frist?"}])
    with operating(study.path, tmp_path / "study.sqlite") as console:
        console.set_up()
        assert change(console, "arms", **{"arms.1.question": "Who first?"}).status_code == 200
        assert served(console).settings.arms[1].question == "Who first?"
        for more in ({"arms.1.text": "Think."}, {"arms.1.question": ""}):  # another treatment, no correction
            page = change(console, "arms", **more)
            assert page.status_code == 422
            assert "can be changed only before the first participant" in page.text
        assert change(console, "arms", **{"arms.1.buttons": "reversed"}).status_code == 200  # not looked at: fixed
        assert served(console).settings.arms[1].buttons == "usual"


def test_relations_recruitment_columns_and_languages(plain_console: Operating) -> None:
    rows = {
        "relations.0.name": "affected",
        "relations.0.words": "It was made about me",
        "relations.0.most": "5",
        "relations.0.affected": "no",  # whatever its name says
        "relations.2.name": "other",
        "relations.2.words": "Something else",
    }
    assert change(plain_console, "relations", **rows).status_code == 200
    for answer, affected in (("yes", True), ("no", False), ("", None)):
        assert change(plain_console, "relations", **{"relations.1.affected": answer}).status_code == 200
        assert [(one.name, one.most, one.affected) for one in served(plain_console).settings.relations] == [
            ("affected", 5, False),
            ("other", None, affected),
        ]
        chosen = re.findall(r'<option value="(\w*)" selected>', plain_console.get("/study/relations").text)
        assert chosen[:2] == ["no", answer]
    assert (
        change(plain_console, "words-de", **{"relations.0": "Über mich", "columns.0.label": "Alter"}).status_code == 200
    )
    german = served(plain_console).editions["de"].settings
    assert (german.relations[0].words, german.columns[0].label) == ("Über mich", "Alter")
    # One that is taken away is taken away in every language.
    rows = {"relations.0.name": "judge", "relations.0.words": "I decide", "relations.0.most": ""}
    assert change(plain_console, "relations", **rows).status_code == 200
    assert served(plain_console).editions["de"].settings.relations[0].words == "I decide"
    change(
        plain_console,
        "recruitment",
        **{"recruitment.open": None, "recruitment.panel": "prolific", "recruitment.most": "40"},
    )
    recruitment = served(plain_console).settings.recruitment
    assert (recruitment.open, recruitment.panel, recruitment.most) == (False, "prolific", 40)
    change(plain_console, "columns", **{"columns.0.label": "Years", "columns.0.unit": "a", "columns.0.place": "9"})
    assert [(c.label, c.unit) for c in served(plain_console).settings.columns] == [("Town", ""), ("Years", "a")]
    change(plain_console, "languages", **{"also.de": None})
    assert served(plain_console).settings.languages == ("en",)


@pytest.mark.parametrize(
    ("part", "new", "said"),
    [
        ("words", {"title": " "}, "title = "),
        ("words", {"answer_words.same": "x", "answer_words.no_constraint": "x"}, "two answers have the words 'x'"),
        ("recruitment", {"recruitment.completion_url": "javascript:1"}, "completion_url"),
        ("recruitment", {"recruitment.most": "-3"}, "At most so many people: '-3' is not a whole number"),
        ("relations", {"relations.0.name": "a", "relations.0.words": "A"}, "one is no choice"),
        ("switches", {"check_must_pass": "yes"}, "comprehension_check is off"),
        ("pairs", {"pairs": "5000"}, "pairs = 5000"),
        ("pairs", {"design.checks": "3"}, "pairs of people are identical"),
        ("consent", {"text": " "}, "consent.md: empty"),
        ("consent", {"text": "x" * 100_001}, "characters; allowed: 100,000"),
        ("words-de", {"title": "x" * 501}, ""),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_stays(
    shared_console: Operating, part: str, new: dict[str, str], said: str
) -> None:
    home = shared_console.site.host.path
    before = version(home / "study.toml"), version(home / "consent.md")
    page = change(shared_console, part, **new)
    if not said:  # longer than the page allows: cut, as everywhere
        assert page.status_code == 200
        return
    assert page.status_code == 422
    assert said in unescape(page.text)
    assert ".part" not in page.text  # no path of this machine
    name, typed = next(iter(new.items()))
    if part != "consent":
        assert fields(page).get(name, "").strip() == typed.strip()
    assert before == (version(home / "study.toml"), version(home / "consent.md"))


def test_what_decides_about_pairs_is_locked_once_someone_has_begun(console: Operating) -> None:
    assert change(console, "pairs", pairs="8", answers="two").status_code == 200
    assert served(console).settings.pairs == 8
    console.post("/state", state="open", sure="yes")
    page = console.get("/study/pairs")
    assert "Pause the study" in page.text  # nobody has begun, but somebody could, this moment
    assert "disabled" in page.text
    begin(console)
    console.post("/state", state="paused")
    for part, new in (
        ("pairs", {"pairs": "9", "answers": "four", "seed": "3", "design.anchors": "1"}),
        ("columns", {"columns.0.unit": "years", "columns.0.place": "5"}),
    ):
        locked = console.get(f"/study/{part}")
        assert "before the first participant begins" in locked.text
        sent = fields(locked) | new  # as if the fields were not locked
        fingerprint = served(console).fingerprint
        console.client.post(f"/admin/study/{part}", data=sent)
        assert served(console).fingerprint == fingerprint
    assert change(console, "pairs", **{"design.lease_hours": "48"}).status_code == 200
    assert change(console, "columns", **{"columns.0.label": "Age now"}).status_code == 200
    settings = served(console).settings
    assert (settings.design.lease_hours, settings.columns[0].label, settings.pairs) == (48, "Age now", 8)


def begin(console: Operating) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415

    row = {
        "number": 1,
        "token_hash": b"x" * 32,
        "consent_version": "v",
        "consented_at": datetime.now(UTC),
        "stage": "task",
    }
    console.site.host.store.change_now(lambda c: c.execute(sa.insert(participants), row))


def test_someone_who_begins_while_the_change_is_checked_keeps_their_pairs(console: Operating) -> None:
    """The question is asked again with the change itself."""
    home, fingerprint = served(console).path, served(console).fingerprint
    text = (home / "study.toml").read_text().replace("pairs = 6", "pairs = 7")
    with edited(home, {"study.toml": text}, {"study.toml": version(home / "study.toml")}) as edit:
        begin(console)
        with pytest.raises(ValueError, match="before the first participant"):
            console.site.host.store.change_now(partial(edit.take_effect, fingerprint=fingerprint))
    assert "pairs = 6" in (home / "study.toml").read_text()


def test_two_who_edit_at_once_do_not_overwrite_each_other(console: Operating) -> None:
    one, two = (fields(console.get("/study/words")) for _ in range(2))
    other_part = fields(console.get("/study/switches"))
    assert console.client.post("/admin/study/words", data=one | {"title": "Of Ada"}).status_code == 200
    late = console.client.post("/admin/study/words", data=two | {"title": "Of Ben"})
    assert late.status_code == 409
    assert "Someone else saved this part" in late.text
    assert fields(late)["title"] == "Of Ben"
    assert served(console).settings.title == "Of Ada"
    assert console.client.post("/admin/study/switches", data=other_part | {"ask_why": "yes"}).status_code == 200
    assert console.client.post("/admin/study/words", data=fields(late)).status_code == 200  # having seen it
    settings = served(console).settings
    assert (settings.title, settings.ask_why) == ("Of Ben", True)
    texts = [fields(console.get("/study/consent")) for _ in range(2)]
    assert console.client.post("/admin/study/consent", data=texts[0] | {"text": "One"}).status_code == 200
    assert console.client.post("/admin/study/consent", data=texts[1] | {"text": "Two"}).status_code == 409
    assert (served(console).path / "consent.md").read_text() == "One\n"


def test_a_file_changed_under_ones_hands_is_not_overwritten(plain_console: Operating) -> None:
    home = served(plain_console).path
    file = home / "consent.md"
    with edited(home, {"consent.md": "mine"}, {"consent.md": version(file)}) as edit:
        file.write_text("theirs")
        with pytest.raises(ChangedMeanwhile):
            plain_console.site.host.store.change_now(partial(edit.take_effect, fingerprint=edit.study.fingerprint))
    assert file.read_text() == "theirs"


def test_the_preview_of_a_text(plain_console: Operating) -> None:
    page = plain_console.client.post(
        "/admin/study/task-de/preview",
        data={"csrf": plain_console.csrf(), "text": "Neu **fett** <script>alert(1)</script>"},
    )
    assert "<strong>fett</strong>" in page.text
    assert "<script>alert" not in page.text
    assert 'lang="de"' in page.text
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert "Before you begin" in plain_console.get("/study/consent/preview").text
    assert plain_console.get("/study/words/preview").status_code == 404


def test_marks_to_be_filled_in_are_listed_where_they_are(plain_console: Operating) -> None:
    unfinished, page = served(plain_console).unfinished, unescape(plain_console.get("/study").text)
    assert unfinished
    words = [note.partition(": ")[2].removeprefix("[FILL IN: ").removesuffix("]") for note in unfinished]
    assert all(what in page for what in words)  # below the part of the study, not its file
    assert 'href="/admin/study/consent-de"' in plain_console.get("/study").text
    change(plain_console, "task", text="All is said.")
    assert "Still to fill in" not in plain_console.get("/study/task").text
    assert "Still to fill in" in plain_console.get("/study/consent").text


def test_files_broken_by_hand_are_said_and_the_study_goes_on(plain_console: Operating) -> None:
    home = served(plain_console).path
    (home / "study.toml").write_text("title = 3\n")
    page = plain_console.get("/study")
    assert page.status_code == 500
    assert "cannot be read" in page.text
    assert plain_console.get("/study/words").status_code == 500
    assert plain_console.client.get("/").status_code == 200
