"""``fairwise study operator``: accounts of the console, for whoever can read the study's folder."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from fairwise.cli.error_handling import debuggable
from fairwise.cli.options.study import HERE, DatabaseOption, StudyArgument, UrlOption, base_address, study_store
from fairwise.cli.terminal import Json, echo, print_json
from fairwise.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from fairwise.store.operators import Operator

operator = typer.Typer(
    name="operator",
    help="Let an operator in again who cannot log in, or make an account without the console.\n\n"
    "Example: fairwise study operator reset my-study Ada",
)
_Name = Annotated[str, Argument(metavar="NAME", help="The operator's name, as in the console.")]


def reset(
    folder: StudyArgument,
    name: _Name,
    url: UrlOption = HERE,
    database: DatabaseOption = None,
    as_json: Json = False,
) -> None:
    """Take an operator's password away, end their sessions, and print a link by which they choose another one.

    The link works once, and for a day. Wrong passwords that were tried for this name no longer count.

    Example:

    fairwise study operator reset my-study Ada --url https://study.example.org
    """
    from fairwise.store import operators
    from fairwise.web.console.login import no_password

    kept = no_password()

    def change(connection: "Connection") -> operators.Operator:
        operators.take_turns(connection)
        login = operators.credentials(connection, name)
        everyone = {one.id: one for one in operators.all_operators(connection)}
        if login is None:
            names = ", ".join(repr(one.name) for one in everyone.values()) or "none"
            raise InputError(f"NAME: there is no account named {name!r}; there are: {names}")
        account = everyone[login[0]]
        operators.change_password(connection, *login, kept)
        operators.note(connection, operators.COMMAND_LINE, "account reset", account.name, datetime.now(UTC))
        return account

    _print_link(folder, database, url, kept, change, as_json=as_json)


def add(
    folder: StudyArgument,
    name: _Name,
    viewer: Annotated[bool, Option("--viewer", help="May see how the study goes, and change nothing.")] = False,
    url: UrlOption = HERE,
    database: DatabaseOption = None,
    as_json: Json = False,
) -> None:
    """Make an account, an owner's without --viewer, and print a link by which its operator chooses a password.

    Example:

    fairwise study operator add my-study Ada --url https://study.example.org
    """
    from fairwise.store import operators
    from fairwise.store.errors import NameTaken
    from fairwise.web.console.login import no_password

    kept, now, role, called = no_password(), datetime.now(UTC), "viewer" if viewer else "owner", name.strip()
    if not 1 <= len(called) <= operators.LONGEST_NAME or not called.isprintable():
        raise InputError(f"NAME: {name[:40]!r}: needed: a name of 1 to {operators.LONGEST_NAME} characters")

    def change(connection: "Connection") -> operators.Operator:
        operators.take_turns(connection)
        try:
            made = operators.add_operator(connection, called, kept, role, now)
        except NameTaken:
            raise InputError(
                f"NAME: there is an account named {called!r} already; reset lets its operator in"
            ) from None
        operators.note(connection, operators.COMMAND_LINE, "account added", f"{role} {called}", now)
        return operators.Operator(made, called, role)

    _print_link(folder, database, url, kept, change, as_json=as_json)


def _print_link(
    folder: Path,
    database: str | None,
    url: str,
    kept: str,
    change: "Callable[[Connection], Operator]",
    *,
    as_json: bool,
) -> None:
    """Make the change, clear what was counted for the name, and print the link."""
    from fairwise.study.folder import SECRET, read_secret
    from fairwise.study.recruitment import Keys
    from fairwise.web.console.login import RESET_HOURS, reset_key
    from fairwise.web.shared.attempts import Attempts

    base, keys = base_address(url), Keys(read_secret(folder / SECRET))
    none = "nobody has served this study yet, so there are no accounts"
    with study_store(folder, database, none_means=none, before_study=True) as store:
        account = store.change_now(change)
    Attempts(folder, keys).clear(account.name)
    link = f"{base}/admin/reset/{reset_key(keys, account.id, kept)}"
    if as_json:
        print_json({"name": account.name, "role": account.role, "link": link, "hours": RESET_HOURS})
        return
    echo(f"{account.name} ({account.role}) can choose a password by this link, once, within {RESET_HOURS} hours:")
    echo(link)
    echo("Whoever has the link can do so. Hand it over by a way that nobody else reads.")
    if url == HERE:
        echo("It leads to this machine. Give --url to have it lead to where the console is reached.")


for command in (reset, add):
    operator.command()(debuggable(command))
