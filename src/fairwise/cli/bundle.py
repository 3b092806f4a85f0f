"""``fairwise study verify`` and ``fairwise study reopen``: a study with all its answers in one archive."""

from pathlib import Path
from typing import Annotated

import typer

from fairwise.cli.output import check_folder, print_json
from fairwise.cli.screen import Json, say, working

_Bundle = Annotated[Path, typer.Argument(metavar="BUNDLE", help="An archive made by: fairwise export --bundle.")]


def verify(bundle: _Bundle, as_json: Json = False) -> None:
    """Check a bundle: nothing changed or added, every pair as the seed asks for, every answer one that could be given.

    Example:

    fairwise study verify my-study.zip
    """
    from dataclasses import asdict

    from fairwise.archive.verify import verify_bundle

    with working("Checking the bundle"):
        found = verify_bundle(bundle)
    if as_json:
        print_json({"bundle": bundle, **asdict(found)})
        return
    say(f"{bundle} is in order. It was made with Fairwise {found.fairwise}.")
    say(f"Participants  {found.participants}, of whom {found.finished} finished")
    say(f"Pairs shown   {found.pairs}, each as the seed asks for")
    if found.excluded:
        say(f"Excluded      {found.excluded} of the participants, by an operator; their answers are in it")
    if found.active:
        say(f"Active pairs  {found.active}, each chosen again with the same result")
    say(f"Answers       {found.answers}, and {found.versions - found.answers} earlier versions of them")
    if found.without_text:
        say(f"Consent       {found.without_text} of the participants agreed to a consent text that is not in it")
    if found.coarse:
        say("Coarse        days in the place of times, whole seconds of thinking, and nothing that anyone wrote")
    say("This proves that the bundle agrees with itself, not that nobody made it up.")
    if found.active:
        say("Nor that the models that chose active pairs follow from the answers: those who withdrew are missing.")
    say("Not checked, as nothing else in it says so: when it was made, and by which version of Fairwise.")


def reopen(
    bundle: _Bundle,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make; must not be there.")],
    database: Annotated[
        str | None, typer.Option("--database", help="postgresql://…; without it SQLite in DIR.", metavar="URL")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a study of a bundle again, with all its answers; links, panels' ids and rooms are in no bundle.

    Example:

    fairwise study reopen my-study.zip my-study-again
    """
    from fairwise.archive.reopen import reopen_bundle
    from fairwise.web.server import database_of

    check_folder(folder.parent)
    with working("Opening the bundle"):
        found = reopen_bundle(bundle, folder, database_of(folder, database))
    if as_json:
        print_json({"bundle": bundle, "study": folder, "participants": found.participants, "answers": found.answers})
        return
    say(f"{folder} is a study with {found.participants} participants and {found.answers} answers.")
