"""``fairwise bots``: simulated people take part in a running study, and come back for its second round."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from fairwise.cli.options.parsing import fraction
from fairwise.cli.terminal import Json, check_target, echo, print_json, progress_bar, write_output
from fairwise.errors import InputError
from fairwise.numbers import counted

if TYPE_CHECKING:
    from fairwise.bots.participant import BotReturn, BotRun, BotVotes

_AGAIN = "Second round"


def bots(
    folder: Annotated[Path, Argument(metavar="DIR", help="The study that is served.")],
    url: Annotated[str, Option("--url", help="Where it is served.", metavar="URL")] = "http://127.0.0.1:8000",
    count: Annotated[int, Option("--count", help="How many simulated people take part.", min=1)] = 43,
    seed: Annotated[int, Option("--seed", help="Decides who they are.", min=0)] = 0,
    speed: Annotated[
        Literal["full", "human"], Option("--speed", help="human: a few seconds of thinking about every page.")
    ] = "full",
    concurrency: Annotated[
        int, Option("--concurrency", help="How many take part at the same time.", min=1, max=1000)
    ] = 50,
    room: Annotated[str | None, Option("--room", help="Come into a room by its code.", metavar="CODE")] = None,
    allow_remote: Annotated[
        bool, Option("--allow-remote", help="Also go to a study that is not on this machine.")
    ] = False,
    force: Annotated[
        bool, Option("--force", help="Also among the answers of real people; they are marked as simulated.")
    ] = False,
    links: Annotated[
        Path | None,
        Option(
            "--links", help="Own links: written in round 1, read in round 2.", metavar="FILE", rich_help_panel=_AGAIN
        ),
    ] = None,
    turn: Annotated[int, Option("--round", help="2: come back by --links.", min=1, max=2, rich_help_panel=_AGAIN)] = 1,
    persuasion: Annotated[
        float,
        Option(
            "--persuasion", help="Chance to follow a reason that is shown.", parser=fraction, rich_help_panel=_AGAIN
        ),
    ] = 0.0,
    conformity: Annotated[
        float,
        Option(
            "--conformity", help="Chance to follow most others, where shown.", parser=fraction, rich_help_panel=_AGAIN
        ),
    ] = 0.0,
    stubbornness: Annotated[
        float, Option("--stubbornness", help="Chance of never changing.", parser=fraction, rich_help_panel=_AGAIN)
    ] = 0.0,
    wavering: Annotated[
        float,
        Option("--wavering", help="Chance to change without any reason.", parser=fraction, rich_help_panel=_AGAIN),
    ] = 0.1,
    votes: Annotated[
        bool, Option("--vote", help="Come back by --links only to vote on the trade-off.", rich_help_panel=_AGAIN)
    ] = False,
    as_json: Json = False,
) -> None:
    """Let simulated people answer a running study over HTTP, from consent to receipt.

    Example:

    fairwise bots my-study --url http://127.0.0.1:8000 --count 43
    """
    import asyncio

    from fairwise.bots.browser import checked_address
    from fairwise.bots.participant import come_back, play, read_links, vote, write_links
    from fairwise.simulation import SecondThoughts, draw_respondents
    from fairwise.study.folder import StudyFolder

    site = checked_address(url, allow_remote=allow_remote)
    study = StudyFolder.open(folder)
    if votes or turn == 2:
        if links is None:
            why = "--vote" if votes else "--round 2"
            raise InputError(f"{why}: who comes back needs their own link; give --links, as written in round 1")
        known = dict(list(read_links(links).items())[:count])
    if votes:
        with progress_bar("Simulated votes") as progress:
            cast = asyncio.run(vote(site, known, seed=seed, concurrency=concurrency, progress=progress, force=force))
        _show_votes(str(site), cast, as_json=as_json)
        return
    if turn == 2:
        thoughts = SecondThoughts(persuasion, conformity, stubbornness, wavering)
        with progress_bar("Simulated people who come back") as progress:
            returned = asyncio.run(
                come_back(
                    study.settings,
                    site,
                    known,
                    thoughts,
                    seed=seed,
                    thinking=speed == "human",
                    concurrency=concurrency,
                    progress=progress,
                    force=force,
                )
            )
        _show_return(str(site), returned, as_json=as_json)
        return
    if links is not None:
        check_target(links, (".json",), ())
    respondents = draw_respondents(study.people(), count, seed=seed)
    with progress_bar("Simulated answers") as progress:
        run = asyncio.run(
            play(
                study,
                site,
                respondents,
                seed=seed,
                thinking=speed == "human",
                concurrency=concurrency,
                progress=progress,
                room_code=room,
                force=force,
            )
        )
    if links is not None:
        write_output(links, lambda draft: write_links(draft, run.links), private=True)
    _show(str(site), run, as_json=as_json)


def _show(site: str, run: "BotRun", *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "url": site,
                "finished": len(run.receipts),
                "sent_away": run.sent_away,
                "answers": run.answers,
                "seconds": run.seconds,
                "answers_per_second": run.answers_per_second,
                "receipts": run.receipts,
            }
        )
        return
    echo(
        f"{counted(len(run.receipts), 'simulated person', 'simulated people')} finished with "
        f"{counted(run.answers, 'answer')} in {run.seconds:.1f} s "
        f"({run.answers_per_second:.0f} a second). Their receipts:\n"
    )
    if run.sent_away:
        echo(f"{run.sent_away} were screened out, or came when there were enough.")
    for name, receipt in run.receipts.items():
        echo(f"{name}  {receipt}")


def _show_return(site: str, returned: "BotReturn", *, as_json: bool) -> None:
    if as_json:
        print_json({"url": site, **vars(returned)})
        return
    echo(
        f"{counted(returned.came_back, 'simulated person', 'simulated people')} came back in {returned.seconds:.1f} s: "
        f"{counted(returned.kept, 'answer')} kept, {returned.changed} changed."
    )
    if returned.not_asked:
        echo(f"{returned.not_asked} had nothing to answer again.")


def _show_votes(site: str, cast: "BotVotes", *, as_json: bool) -> None:
    if as_json:
        print_json({"url": site, **vars(cast)})
        return
    echo(f"{counted(cast.voted, 'simulated person', 'simulated people')} voted in {cast.seconds:.1f} s.")
    if cast.not_asked:
        echo(f"{cast.not_asked} found no vote under their link.")
