"""``fairwise serve`` and ``fairwise bots``: the web app of a study, and simulated people who take part in it."""

import re
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from fairwise.cli.options import LOCAL_ADDRESS, NewDatabaseOption, fraction
from fairwise.cli.terminal import Json, check_target, echo, note, print_json, progress_bar, write_output
from fairwise.cli.training import warn_without_tls
from fairwise.errors import InputError
from fairwise.numbers import counted


def serve(
    folder: Annotated[
        Path,
        Argument(metavar="DIR", help="The study; or a new folder, to make one in the console; or one with --several."),
    ],
    database: NewDatabaseOption = None,
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen on; 0 for any that is free.", min=0, max=65535)] = 8000,
    workers: Annotated[int, Option(help="Processes; more than one needs PostgreSQL.", min=1)] = 1,
    prefix: Annotated[str, Option(help="Path under which a proxy shows the study: /study.", metavar="PATH")] = "",
    dask: Annotated[
        str | None,
        Option(help="Scheduler of a dask cluster that makes the models: tls://host:8786.", metavar="ADDRESS"),
    ] = None,
    several: Annotated[
        bool, Option("--several", help="DIR holds several studies, each a folder: the study DIR/loans is at /loans/.")
    ] = False,
    no_jobs: Annotated[bool, Option("--no-jobs", help="Make no models here; those asked for wait.")] = False,
) -> None:
    """Ask people: serve the pages of a study, and the console of those who run it, until stopped with Ctrl-C.

    Example:

    fairwise serve my-study --port 8000
    """
    if workers > 1 and (database is None or database.startswith("sqlite")):
        raise InputError("--workers: SQLite has one writer, so several processes need --database postgresql://…")
    if prefix and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", prefix):
        raise InputError(f"--prefix: {prefix!r} must be a path of letters, digits and - . _ ~, such as /study")
    if dask is not None:
        warn_without_tls(dask)
    from fairwise.jobs.runner import jobs_beside
    from fairwise.store.places import database_of
    from fairwise.web.server import run_server

    where = (database or "") if several else database_of(folder, database)
    run_server(
        folder,
        database,
        host=host,
        port=port,
        workers=workers,
        prefix=prefix,
        announce=note,
        background=nullcontext() if no_jobs else jobs_beside(folder, where, dask, several=several),
        several=several,
    )


_second_round = partial(Option, rich_help_panel="Second round")
_chance = partial(_second_round, parser=fraction)


def bots(
    folder: Annotated[Path, Argument(metavar="DIR", help="The study that is served.")],
    url: Annotated[str, Option(help="Where it is served.", metavar="URL")] = LOCAL_ADDRESS,
    count: Annotated[int, Option(help="How many simulated people take part.", min=1)] = 43,
    seed: Annotated[int, Option(help="Decides who they are.", min=0)] = 0,
    speed: Annotated[
        Literal["full", "human"], Option(help="human: a few seconds of thinking about every page.")
    ] = "full",
    concurrency: Annotated[int, Option(help="How many take part at the same time.", min=1, max=1000)] = 50,
    room: Annotated[str | None, Option(help="Come into a room by its code.", metavar="CODE")] = None,
    allow_remote: Annotated[
        bool, Option("--allow-remote", help="Also go to a study that is not on this machine.")
    ] = False,
    force: Annotated[
        bool, Option("--force", help="Also among the answers of real people; they are marked as simulated.")
    ] = False,
    links: Annotated[
        Path | None, _second_round(help="Own links: written in round 1, read in round 2.", metavar="FILE")
    ] = None,
    turn: Annotated[int, _second_round("--round", help="2: come back by --links.", min=1, max=2)] = 1,
    persuasion: Annotated[float, _chance(help="Chance to follow a reason that is shown.")] = 0.0,
    conformity: Annotated[float, _chance(help="Chance to follow most others, where shown.")] = 0.0,
    stubbornness: Annotated[float, _chance(help="Chance of never changing.")] = 0.0,
    wavering: Annotated[float, _chance(help="Chance to change without any reason.")] = 0.1,
    votes: Annotated[bool, _second_round("--vote", help="Come back by --links only to vote on the trade-off.")] = False,
    as_json: Json = False,
) -> None:
    """Let simulated people answer a running study over HTTP, from consent to receipt.

    Example:

    fairwise bots my-study --url http://127.0.0.1:8000 --count 43
    """
    import asyncio

    from fairwise.bots.browser import checked_address
    from fairwise.bots.participant import come_back, play, vote, write_links
    from fairwise.simulation import SecondThoughts, draw_respondents
    from fairwise.study.folder import StudyFolder

    site = checked_address(url, allow_remote=allow_remote)
    study = StudyFolder.open(folder)
    shared: dict[str, Any] = {"seed": seed, "concurrency": concurrency, "force": force}
    pace = {"thinking": speed == "human"}
    if votes or turn == 2:
        own_links = dict(list(_read_links(links, "--vote" if votes else "--round 2").items())[:count])
    if votes:
        with progress_bar("Simulated votes") as progress:
            ballots = asyncio.run(vote(site, own_links, progress=progress, **shared))
        numbers = vars(ballots)
        text = f"{_people(ballots.voted)} voted in {ballots.seconds:.1f} s."
        if ballots.n_without_task:
            text += f"\n{ballots.n_without_task} found no vote under their link."
    elif turn == 2:
        thoughts = SecondThoughts(persuasion, conformity, stubbornness, wavering)
        with progress_bar("Simulated people who come back") as progress:
            visits = asyncio.run(
                come_back(study.settings, site, own_links, thoughts, progress=progress, **pace, **shared)
            )
        numbers = vars(visits)
        answers = counted(visits.kept, "answer")
        came_back = f"{_people(visits.n_returned)} came back in {visits.seconds:.1f} s"
        text = f"{came_back}: {answers} kept, {visits.changed} changed."
        if visits.n_without_task:
            text += f"\n{visits.n_without_task} had nothing to answer again."
    else:
        if links is not None:
            check_target(links, (".json",), ())
        respondents = draw_respondents(study.people(), count, seed=seed)
        with progress_bar("Simulated answers") as progress:
            run = asyncio.run(play(study, site, respondents, progress=progress, room_code=room, **pace, **shared))
        if links is not None:
            write_output(links, lambda draft: write_links(draft, run.links), private=True)
        numbers = {"finished": len(run.receipts), "sent_away": run.sent_away, "answers": run.answers}
        numbers |= {"seconds": run.seconds, "answers_per_second": run.answers_per_second, "receipts": run.receipts}
        text = (
            f"{_people(len(run.receipts))} finished with {counted(run.answers, 'answer')} in {run.seconds:.1f} s "
            f"({run.answers_per_second:.0f} a second). Their receipts:\n"
        )
        if run.sent_away:
            text += f"\n{run.sent_away} were screened out, or came when there were enough."
        text += "".join(f"\n{name}  {receipt}" for name, receipt in run.receipts.items())
    if as_json:
        print_json({"url": str(site), **numbers})
    else:
        echo(text)


def _read_links(links: Path | None, option: str) -> dict[str, str]:
    from fairwise.bots.participant import read_links

    if links is None:
        raise InputError(f"{option}: who comes back needs their own link; give --links, as written in round 1")
    return read_links(links)


def _people(count: int) -> str:
    return counted(count, "simulated person", "simulated people")
