"""The operator's tutorial as one walk: every step of docs/tutorials/operator.md, in its order, in a real browser."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.tutorial_reader import Look, Reader, Section

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorials" / "operator.md"
PEOPLE = ROOT / "examples" / "hiring.csv"
PASSWORD = "four words that nobody guesses"
PAIRS = 20
SHOWN = {
    "age": "years",
    "years_of_experience": "",
    "education": "",
    "school_leaving_grade": "of 100",
    "languages": "",
    "gap_in_employment_months": "months",
    "volunteer_work": "",
}


def follow(page: Page, home: Path, look: Look, port: int) -> list[Section]:
    """Follow the tutorial in a folder of one's own; returns what happened under each of its headings."""
    reader = Reader(page, home, look, port)
    try:
        _begin(reader)
        _choose(reader)
        _complete(reader)
        own = _take_part(reader)
        _invite(reader)
        _watch(reader)
        _fit(reader)
        _show(reader, own)
        _keep(reader)
    finally:
        reader.stop()
    return reader.sections[1:]


def _begin(reader: Reader) -> None:
    reader.section("2. Start the server")
    told = reader.serve("fairwise serve my-study", "/admin/setup/")
    first = re.search(r"\S+/admin/setup/\S+", told)
    assert first is not None

    reader.section("3. Make the first account")
    reader.open(first[0])
    reader.fill("Name", "operator")
    reader.fill("Password", PASSWORD)
    reader.fill("The same password again", PASSWORD)
    reader.look("account")
    reader.press("Make the account")
    reader.reads("There is no study here yet")

    reader.section("4. Upload the table of people")
    reader.press("Make a study")
    reader.give("A file with one row for each person", PEOPLE)
    reader.look("upload")
    reader.press("Upload and go on")
    reader.reads("hiring.csv: 400 people, 9 columns")
    reader.look("file")
    reader.press("Yes, go on")


def _choose(reader: Reader) -> None:
    page = reader.page
    reader.section("5. Choose what participants see")
    reader.choose("The column that tells people apart", "id")
    reader.choose("The column with the outcome", "hired_and_stayed")
    reader.look("who_is_who", page.locator("[aria-labelledby=who]"))
    for column, unit in SHOWN.items():
        box = page.locator("fieldset.column", has=page.locator("legend", has_text=re.compile(f"^{column}$")))
        reader.tick(column, box.get_by_role("checkbox"))
        if column == "gap_in_employment_months":
            reader.write("Gap in employment", page.get_by_label(f"Label of {column}"))
        if unit:
            reader.write(unit, page.get_by_label(f"Unit of {column}"))
    page.frame_locator("#preview").get_by_text("Gap in employment").first.wait_for()
    page.locator("#see").evaluate("heading => heading.scrollIntoView()")
    reader.look("columns")

    reader.section("6. Choose what is asked")
    reader.fill("Name of the study", "Fair hiring (rehearsal)")
    reader.fill("The favourable outcome, in words", "being hired")
    reader.fill("Pairs for each participant", str(PAIRS))
    page.frame_locator("#preview").get_by_text("being hired").first.wait_for()
    reader.look("asked", page.locator("[aria-labelledby=many], .make"))
    reader.press("Make the study")
    reader.reads("The study was made")


def _complete(reader: Reader) -> None:
    blocks = re.findall(r"```markdown\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    consent, task = (textwrap.dedent(block).strip() for block in blocks)
    reader.section("7. Complete the two texts")
    reader.look("parts")
    reader.press("Consent")
    reader.fill("The text", consent)
    reader.page.frame_locator("#preview").get_by_text("The applicants are made up").wait_for()
    reader.look("consent_text", reader.page.locator(".making"))
    reader.press("Save")
    reader.reads("Saved.")
    reader.press("All parts of the study")
    reader.press("Task")
    reader.fill("The text", task)
    reader.press("Save")
    reader.reads("Saved.")
    reader.press("All parts of the study")

    reader.section("8. Say that no real people take part")
    reader.press("Who may take part")
    reader.tick("No real people take part")
    reader.look("simulated", reader.page.locator("h1, .choice + .hint"))
    reader.press("Save")
    reader.reads("Saved.")

    reader.section("9. Open the study")
    reader.press("Overview")
    reader.look("paused")
    reader.press("Open the study")
    reader.reads("The study is open: people can take part now.")


def _take_part(reader: Reader) -> str:
    """Returns one's own link."""
    reader.section("10. Take part yourself")
    reader.new_tab(f"{reader.address}/")
    reader.look("consent")
    reader.press("I agree to take part")
    own = reader.page.url.removesuffix("/task")
    reader.press("Copy the link", leads=False)
    reader.reads("Copied")
    reader.look("task", reader.page.locator("main > h2:last-of-type, .link-box, #start"))
    reader.press("Start")
    reader.reads("Made-up people")
    reader.answer("same")
    reader.press("Begin with the first pair")
    reader.reads("Pair 1 of 20")
    reader.look("pair")
    for _ in range(PAIRS):
        reader.answer(_view(reader.page))
    reader.reads("Every pair is answered.")
    reader.press("Go on to the last questions")
    reader.press("Finish")
    reader.reads("You have finished.")
    reader.look("thanks")
    reader.close_tab()
    return own


def _view(page: Page) -> str:
    """What one who looks at experience alone says about the two people on a page."""
    rows = [row.locator("td").all_inner_texts() for row in page.locator(".compared tbody tr").all()]
    a, b = ([text.strip() for text in side] for side in zip(*rows, strict=True))
    place = list(SHOWN).index("years_of_experience")
    if a == b:
        return "same"
    more = int(a[place]) - int(b[place])
    return "no_constraint" if not more else "a_at_least_b" if more > 0 else "b_at_least_a"


def _invite(reader: Reader) -> None:
    page = reader.page
    reader.section("11. Invite people")
    reader.press("Links and rooms")
    reader.look("links")
    reader.fill("Name of a new room", "Meeting on Monday")
    reader.press("Open the room")
    reader.reads("The room is open.")
    reader.press("Page for the wall", page.get_by_role("link", name="Page for the wall"))
    reader.look("wall")
    reader.back()
    reader.fill("How many links", "3")
    reader.press("Make the links")
    reader.download("Download as CSV")
    reader.look("new_links")
    reader.press("I have kept them")

    reader.section("12. Let simulated people answer")
    reader.run("fairwise bots my-study --count 30", "--url", reader.address)


def _watch(reader: Reader) -> None:
    page = reader.page
    reader.section("13. Watch the study")
    reader.press("Overview")
    reader.reads("Krippendorff")
    reader.look("overview", page.locator("[data-live]"))
    reader.press("Participants")
    reader.look("participants")

    reader.section("14. Leave someone out")
    reader.press("1")
    reader.fill("Reason", "My own try")
    reader.look("exclude", page.locator("[aria-labelledby=exclusion]"))
    reader.press("Exclude")
    reader.reads("This participant is left out from now on.")

    reader.section("15. Pause and close the study")
    reader.press("Overview")
    reader.press("Pause the study")
    reader.reads("The study is paused: nobody can answer until you open it again.")
    reader.press("Open the study")
    reader.press("Close the study for good", page.get_by_text("Close the study for good"), leads=False)
    reader.tick("Yes, for good")
    reader.look("close", page.locator("[aria-labelledby=stands]"))
    reader.press("Close the study")
    reader.reads("The study is closed, for good.")


def _fit(reader: Reader) -> None:
    page = reader.page
    reader.section("16. Learn a model")
    reader.press("Models")
    reader.press("Learn a model", page.get_by_role("main").get_by_role("link", name="Learn a model"))
    reader.tick("1")
    reader.tick("Follow everything", page.locator("[value=everything]"))
    reader.look("fit_form")
    reader.press("Learn the model")
    reader.reads("What is proved, and what is not")

    reader.section("17. Read the result")
    reader.look("fit", page.locator("h1, .actions"))
    reader.press("Read the full report")
    reader.look("report")
    reader.back()

    reader.section("18. Choose a model")
    marker = page.get_by_label("The knob", exact=True)
    marker.focus()
    for _ in range(4):
        marker.press("ArrowRight")
    reader.look("frontier", page.locator("#frontier, .slider"))
    reader.press("Learn this point", page.get_by_role("button", name="Learn this point"))
    reader.reads("What is proved, and what is not")
    reader.look("second_fit", page.locator("h1, .actions"))
    reader.press("Choose this model")
    reader.reads("The model was chosen. Participants see nothing of it yet.")


def _show(reader: Reader, own: str) -> None:
    reader.section("19. Show participants the result")
    reader.look("results", reader.page.locator("h1, .beside"))
    reader.fill("Participant number", "2")
    reader.press("See their page")
    reader.back()
    reader.press("Show it to participants")
    reader.reads("Participants can see the result now.")
    reader.new_tab(own)
    reader.press("See the result")
    reader.look("result")
    reader.close_tab()


def _keep(reader: Reader) -> None:
    reader.section("20. Download what people said")
    reader.press("Downloads")
    reader.look("downloads")
    assert reader.download("Answers as CSV").endswith(".csv")
    assert reader.download("Bundle as ZIP").endswith(".zip")

    reader.section("21. Make a backup")
    reader.run("fairwise backup my-study --out my-study-backup.zip")

    reader.section("22. Stop, and go on another day")
    reader.stop()
    reader.serve("fairwise serve my-study", "Console: ")
    reader.open(f"{reader.address}/admin")
    reader.press("Log out")
    reader.fill("Name", "operator")
    reader.fill("Password", PASSWORD)
    reader.press("Log in", reader.page.get_by_role("main").get_by_role("button", name="Log in"))
    reader.reads("The study is closed")
