"""``fairwise study links``, ``room``, ``ids``, ``participants`` and ``operator``: the people of a study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fairwise.cli.options import LOCAL_ADDRESS, DatabaseOption, StudyArgument, UrlOption, base_address, study_store
from fairwise.cli.terminal import TABLES, Json, check_target, echo, print_frame, print_json, write_table
from fairwise.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from fairwise.store.operators import Operator

_COLUMNS = ("number", "state", "came_by", "name", "panel_id", "room", "relation", "arm", "answered")
_HEADINGS = {name: name for name in _COLUMNS} | {"came_by": "came by", "panel_id": "panel's id"}


def links(
    folder: StudyArgument,
    out: Annotated[Path | None, Option(help="Where to write names and links: .csv or .parquet.")] = None,
    count: Annotated[int | None, Option(help="How many links.", min=1, max=100_000)] = None,
    names: Annotated[
        Path | None, Option(help="Table with a column name: one link for each row.", metavar="FILE")
    ] = None,
    revoke: Annotated[str | None, Option(help="Let nobody begin by this link.", metavar="LINK")] = None,
    url: UrlOption = LOCAL_ADDRESS,
    database: DatabaseOption = None,
    as_json: Json = False,
) -> None:
    """Make personal links: one person each, who can begin by it once and go on by it at any time.

    Example:

    fairwise study links my-study --names class.csv --out links.csv --url https://study.example.org
    """
    import pandas as pd

    from fairwise.store.export import defused
    from fairwise.store.recruitment import invite
    from fairwise.store.recruitment import revoke as revoke_link
    from fairwise.study.recruitment import Keys

    if revoke is not None:
        token = revoke.strip().rstrip("/").rpartition("/")[2].partition("?")[0]
        with study_store(folder, database) as store:
            if not store.change_now(partial(revoke_link, token_hash=Keys.hashed(token), at=datetime.now(UTC))):
                raise InputError(f"--revoke: {revoke!r} is no personal link of this study")
        echo("Nobody can begin by this link any more. Whoever began by it goes on.")
        return
    if (count is None) == (names is None) or out is None:
        raise InputError("Give --out and either --count or --names")
    check_target(out, TABLES, [names])
    invited = [""] * (count or 0)
    if names is not None:
        invited = _texts(names, "name", "names", lambda name: len(name) <= 200, "… is longer than 200 characters")
    base = base_address(url)
    tokens = [Keys.new() for _ in invited]
    people = [(Keys.hashed(token), name) for token, name in zip(tokens, invited, strict=True)]
    with study_store(folder, database) as store:
        # First the file, which alone holds the links: what the database keeps cannot be turned back into them.
        table = pd.DataFrame({"name": [*map(defused, invited)], "link": [f"{base}/p/{token}" for token in tokens]})
        write_table(table, out, private=True)
        store.change_now(partial(invite, people=people, at=datetime.now(UTC)))
    if as_json:
        print_json({"out": out, "links": len(table)})
        return
    echo(f"Wrote {out}: {len(table)} personal links. Whoever has a link can answer in its person's name.")
    if url == LOCAL_ADDRESS:
        echo("They lead to this machine. Give --url to have them lead to where participants reach the study.")


def room(
    folder: StudyArgument,
    name: Annotated[str | None, Option(help="Open a room for a class or a meeting.")] = None,
    close: Annotated[str | None, Option(help="Let nobody else in by this code.", metavar="CODE")] = None,
    url: UrlOption = LOCAL_ADDRESS,
    database: DatabaseOption = None,
    as_json: Json = False,
) -> None:
    """Open or close a room, whose people come with a code; without options, list the rooms.

    Example:

    fairwise study room my-study --name "Class 7b"
    """
    import pandas as pd

    from fairwise.store.rooms import all_rooms, close_room, open_room, read_code

    base = base_address(url)
    if name is not None and (close is not None or not name.strip() or len(name) > 200):
        raise InputError("--name: needed: a name of up to 200 characters, and no --close beside it")
    code, now = None, datetime.now(UTC)
    with study_store(folder, database) as store:
        if name is not None:
            code = store.change_now(partial(open_room, name=name.strip(), at=now))
        elif close is not None and not store.change_now(partial(close_room, code=read_code(close), at=now)):
            raise InputError(f"--close: there is no room with the code {close!r}")
        rooms = store.read_now(all_rooms)
    if as_json:
        print_json({"opened": code, "rooms": [asdict(each) for each in rooms]})
    elif code is not None:
        echo(f"Opened a room. Its code is {code}")
        echo(f"For the wall, with a picture for phones:  {base}/room/{code}/wall")
        echo(f"For those who are there:                  {base}/room/{code}")
    elif not rooms:
        echo('There are no rooms. Open one with --name "Class 7b".')
    else:
        table = pd.DataFrame([asdict(each) for each in rooms])
        headings = {"code": "code", "name": "name", "open": "open", "started": "started", "finished": "finished"}
        print_frame(table.assign(open=table["is_open"].map({True: "yes", False: "closed"})), headings)


def ids(
    folder: StudyArgument,
    add: Annotated[Path | None, Option(help="Table with a column id: these may come.", metavar="FILE")] = None,
    delete: Annotated[bool, Option("--delete", help="Delete the list, and let in any id.")] = False,
    database: DatabaseOption = None,
    as_json: Json = False,
) -> None:
    """List the ids that may come from the panel; once there is a list, nobody else from it is let in.

    Example:

    fairwise study ids my-study --add sona.csv
    """
    from fairwise.store.recruitment import delete_list, how_many_listed, list_ids
    from fairwise.study.folder import StudyFolder
    from fairwise.study.recruitment import Keys, is_panel_id

    if add is not None and delete:
        raise InputError("Give either --add or --delete")
    study = StudyFolder.open(folder)
    panel, keys, n_new = study.settings.recruitment.panel, Keys(study.secret), 0
    panel_ids = []
    if add is not None:
        if not panel:
            raise InputError(f"{folder / 'study.toml'}: recruitment.panel names no panel whose ids these could be")
        rule = " is no id of a panel; allowed: up to 100 letters, digits and _ . ~ -"
        panel_ids = _texts(add, "id", "ids", is_panel_id, rule)
    marks = [keys.mark(panel, panel_id) for panel_id in panel_ids]
    with study_store(folder, database) as store:
        if delete:
            store.change_now(delete_list)
        elif marks:
            n_new = store.change_now(partial(list_ids, marks=marks, at=datetime.now(UTC)))
        n_listed = store.read_now(how_many_listed)
    if as_json:
        print_json({"added": n_new, "listed": n_listed})
    elif n_listed:
        echo(f"{n_new} added. " * bool(marks) + f"{n_listed} on the list: nobody else from the panel is let in.")
    else:
        echo("There is no list: any id is let in.")


def participants(
    folder: StudyArgument,
    out: Annotated[Path | None, Option(help="Write them to a table instead: .csv or .parquet.", metavar="FILE")] = None,
    database: DatabaseOption = None,
    as_json: Json = False,
) -> None:
    """List who was invited, started, finished, was screened out or withdrew, and by which way they came.

    Example:

    fairwise study participants my-study --out participants.csv
    """
    import pandas as pd

    from fairwise.store.export import defused
    from fairwise.store.places import database_of
    from fairwise.store.roster import Entry, roster
    from fairwise.store.store import snapshot
    from fairwise.study.folder import StudyFolder

    StudyFolder.open(folder)
    if out is not None:
        check_target(out, TABLES, [])
    with snapshot(database_of(folder, database), folder) as connection:
        entries = roster(connection)
    table = pd.DataFrame([asdict(entry) for entry in entries], columns=list(Entry.__dataclass_fields__))
    table["number"] = table["number"].astype("Int64")
    for name in ("started_at", "finished_at"):
        table[name] = pd.to_datetime(table[name], utc=True)
    if as_json:
        print_json({"participants": [asdict(entry) for entry in entries]})
    elif out is not None:
        texts = ["name", "panel_id", "session", "room", "relation", "arm"]
        write_table(table.assign(**{column: table[column].map(defused) for column in texts}), out, private=True)
        echo(f"Wrote {out}: {len(table)} {'person' if len(table) == 1 else 'people'}.")
    elif table.empty:
        echo("Nobody was invited, and nobody has come.")
    else:
        used = [name for name in _HEADINGS if name in ("number", "state") or table[name].astype(bool).any()]
        text_table = table.assign(number=table["number"].astype("string").fillna(""))
        print_frame(text_table, {name: _HEADINGS[name] for name in used})


def _texts(file: Path, column: str, what: str, is_allowed: Callable[[str], bool], rule: str) -> list[str]:
    """Return the column of a table as text; refuse the first cell that is not allowed, and a table without any."""
    from fairwise.tables.files import read_table
    from fairwise.tables.rows import require_column

    table, source = read_table(file)
    require_column(column, list(table.columns), source.where())
    texts = ["" if cell is None or cell != cell else str(cell).strip() for cell in table[column].array]  # noqa: PLR0124
    for row, text in enumerate(texts):
        if not is_allowed(text):
            raise InputError(f"{source.where(row, column)}: {text[:40]!r}{rule}")
    if not texts:
        raise InputError(f"{source.where()}: there are no {what} in it")
    return texts


_Name = Annotated[str, Argument(metavar="NAME", help="The operator's name, as in the console.")]


def reset(
    folder: StudyArgument,
    name: _Name,
    url: UrlOption = LOCAL_ADDRESS,
    database: DatabaseOption = None,
    as_json: Json = False,
) -> None:
    """Take an operator's password away, end their sessions, and print a link by which they choose another one.

    The link works once, and for a day. Wrong passwords that were tried for this name no longer count.

    Example:

    fairwise study operator reset my-study Ada --url https://study.example.org
    """
    from fairwise.store import operators
    from fairwise.web.console.accounts import no_password

    password = no_password()

    def change(connection: Connection) -> operators.Operator:
        operators.take_turns(connection)
        login = operators.credentials(connection, name)
        everyone = {one.id: one for one in operators.all_operators(connection)}
        if login is None:
            names = ", ".join(repr(one.name) for one in everyone.values()) or "none"
            raise InputError(f"NAME: there is no account named {name!r}; there are: {names}")
        account = everyone[login[0]]
        operators.change_password(connection, *login, password)
        operators.note(connection, operators.COMMAND_LINE, "account reset", account.name, datetime.now(UTC))
        return account

    _print_link(folder, database, url, password, change, as_json=as_json)


def add(
    folder: StudyArgument,
    name: _Name,
    viewer: Annotated[bool, Option("--viewer", help="May see how the study goes, and change nothing.")] = False,
    url: UrlOption = LOCAL_ADDRESS,
    database: DatabaseOption = None,
    as_json: Json = False,
) -> None:
    """Make an account, an owner's without --viewer, and print a link by which its operator chooses a password.

    Example:

    fairwise study operator add my-study Ada --url https://study.example.org
    """
    from fairwise.store import operators
    from fairwise.store.errors import NameTaken
    from fairwise.web.console.accounts import no_password

    password, now, role, stripped = no_password(), datetime.now(UTC), "viewer" if viewer else "owner", name.strip()
    if not 1 <= len(stripped) <= operators.LONGEST_NAME or not stripped.isprintable():
        raise InputError(f"NAME: {name[:40]!r}: needed: a name of 1 to {operators.LONGEST_NAME} characters")

    def change(connection: Connection) -> operators.Operator:
        operators.take_turns(connection)
        try:
            operator_id = operators.add_operator(connection, stripped, password, role, now)
        except NameTaken:
            raise InputError(
                f"NAME: there is an account named {stripped!r} already; reset lets its operator in"
            ) from None
        operators.note(connection, operators.COMMAND_LINE, "account added", f"{role} {stripped}", now)
        return operators.Operator(operator_id, stripped, role)

    _print_link(folder, database, url, password, change, as_json=as_json)


def _print_link(
    folder: Path,
    database: str | None,
    url: str,
    password: str,
    change: Callable[[Connection], Operator],
    *,
    as_json: bool,
) -> None:
    """Make the change, clear what was counted for the name, and print the link."""
    from fairwise.study.folder import SECRET, read_secret
    from fairwise.study.recruitment import Keys
    from fairwise.web.console.accounts import RESET_HOURS, reset_key
    from fairwise.web.shared.security import Attempts

    base, keys = base_address(url), Keys(read_secret(folder / SECRET))
    none = "nobody has served this study yet, so there are no accounts"
    with study_store(folder, database, none_means=none, before_study=True) as store:
        account = store.change_now(change)
    Attempts(folder, keys).clear(account.name)
    link = f"{base}/admin/reset/{reset_key(keys, account.id, password)}"
    if as_json:
        print_json({"name": account.name, "role": account.role, "link": link, "hours": RESET_HOURS})
        return
    echo(f"{account.name} ({account.role}) can choose a password by this link, once, within {RESET_HOURS} hours:")
    echo(link)
    echo("Whoever has the link can do so. Hand it over by a way that nobody else reads.")
    if url == LOCAL_ADDRESS:
        echo("It leads to this machine. Give --url to have it lead to where the console is reached.")
