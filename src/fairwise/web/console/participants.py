"""The list of participants, the page of one of them, and downloads."""

from __future__ import annotations

import asyncio
import csv
import re
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import pandas as pd
from sqlalchemy import Connection
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from fairwise.archive.bundle import write_bundle
from fairwise.judgments.answer import PairDesign
from fairwise.messages import marked
from fairwise.store import export, quotas
from fairwise.store.engine import database_url
from fairwise.store.erasure import about, clean_files, erase
from fairwise.store.errors import StoreUnavailable
from fairwise.store.housekeeping import tidy_fits
from fairwise.store.participants import question_answers_of_number
from fairwise.store.recruitment import same_ids
from fairwise.store.roster import (
    Entry,
    OneParticipant,
    PersonalDetails,
    answers_of,
    claims,
    one_participant,
    personal_details,
    roster,
)
from fairwise.store.store import snapshot
from fairwise.store.votes import cast_ballots, last_vote
from fairwise.study.folder import StudyFolder
from fairwise.study.quality import EXPLAINED, NAMES, WORDS, flags
from fairwise.study.recruitment import PANELS
from fairwise.study.settings import Stage
from fairwise.study.texts import available, language
from fairwise.web.console.base import ConsolePages, get, post
from fairwise.web.shared.progress import LEFT_AFTER, STATES, Person
from fairwise.web.shared.requests import whole_number
from fairwise.web.shared.views import letter_of

PAGE_SIZE = 50
ANY_FLAG, NO_FLAG, EXCLUDED, SAME_ID = "any", "none", "excluded", "same_id"
CAME_BY = {"open": marked("open link"), "personal": marked("personal link"), "room": marked("room"), **PANELS}
FLAGS = {ANY_FLAG: marked("any flag"), NO_FLAG: marked("no flag"), EXCLUDED: marked("excluded"), **NAMES}
_FOR_OWNERS = {**FLAGS, SAME_ID: marked("one panel’s id for several")}
_SORTED_BY: dict[str, Callable[[Person], Any]] = {
    "number": lambda person: person.number,
    "state": lambda person: list(STATES).index(person.state),
    "answered": lambda person: person.answered,
    "seconds": lambda person: (person.seconds is None, person.seconds or 0.0),
    "last": lambda person: person.last_at,
    "flags": lambda person: len(person.flags),
}


@dataclass(frozen=True)
class ParticipantFilter:
    """Filter, order and page of the list of participants; invalid parts are ignored."""

    state: str = ""
    flag: str = ""
    came_by: str = ""
    find: str = ""
    """Part of a name or of a panel's id, or a number; for owners alone."""

    sort: str = "number"
    down: bool = False
    page: int = 1

    @classmethod
    def read(cls, query: QueryParams, *, is_owner: bool) -> ParticipantFilter:
        def one_of(name: str, allowed: Mapping[str, object], otherwise: str = "") -> str:
            return query[name] if query.get(name) in allowed else otherwise

        page = query.get("page", "")
        return cls(
            state=one_of("state", STATES),
            flag=one_of("flag", _FOR_OWNERS if is_owner else FLAGS),
            came_by=one_of("came_by", CAME_BY),
            find=query.get("find", "").strip()[:100] if is_owner else "",
            sort=one_of("sort", _SORTED_BY, "number"),
            down=query.get("order") == "down",
            page=max(1, whole_number(page) or 1),
        )

    def apply(
        self, people: Sequence[Person], who: Mapping[int, PersonalDetails], same_id: Container[int] = ()
    ) -> list[Person]:
        """Return the participants that match, in order; `same_id` are those whose id others claim."""
        if self.flag == SAME_ID:
            people = [person for person in people if person.number in same_id]
        matching = [person for person in people if self._takes(person, who)]
        # By number where nothing else tells two apart, whichever way the rest goes.
        return sorted(matching, key=_SORTED_BY[self.sort], reverse=self.down)

    def _takes(self, person: Person, who: Mapping[int, PersonalDetails]) -> bool:
        return (
            self.state in ("", person.state)
            and self.came_by in ("", person.came_by)
            and _has_flag(person, self.flag)
            and self._finds(person, who)
        )

    def _finds(self, person: Person, who: Mapping[int, PersonalDetails]) -> bool:
        if not self.find or self.find == str(person.number):
            return True
        details = who.get(person.number)
        return details is not None and any(self.find.lower() in part.lower() for part in details[:3])

    def query(self, **changes: Any) -> str:
        """Return the filter with changes as the end of an address."""
        new = replace(self, **changes)
        parameters = {"state": new.state, "flag": new.flag, "came_by": new.came_by, "find": new.find}
        parameters |= {
            "sort": new.sort if new.sort != "number" or new.down else "",
            "order": "down" if new.down else "",
        }
        parameters |= {"page": str(new.page) if new.page > 1 else ""}
        return "?" + urlencode({name: value for name, value in parameters.items() if value})


def _has_flag(person: Person, flag: str) -> bool:
    if flag in ("", SAME_ID, EXCLUDED):
        return flag != EXCLUDED or person.excluded
    if flag in (ANY_FLAG, NO_FLAG):
        return bool(person.flags) == (flag == ANY_FLAG)
    return any(matching.kind == flag for matching in person.flags)


class ParticipantsPages(ConsolePages):
    """Viewers see numbers, states and flags; owners also who it is."""

    @get("/admin/participants", "viewer")
    async def participants(self, request: Request) -> Response:
        study, is_owner = self._host.study, request.state.operator.is_owner
        if study is None:
            return self._to("")
        chosen = ParticipantFilter.read(request.query_params, is_owner=is_owner)
        picture = await asyncio.to_thread(self._host.watch.now, study)
        who = await self._store.read(personal_details) if is_owner else {}
        same_id = await self._store.read(same_ids) if is_owner else {}
        matching = chosen.apply(picture.people, who, same_id)
        pages = max(1, ceil(len(matching) / PAGE_SIZE))
        chosen = replace(chosen, page=min(chosen.page, pages))
        first = (chosen.page - 1) * PAGE_SIZE
        return self._page(
            request,
            "participants",
            chosen=chosen,
            people=matching[first : first + PAGE_SIZE],
            who=who,
            same_id=same_id,
            ids_of_several=len({min(number, *same) for number, same in same_id.items()}),
            found=len(matching),
            everyone=len(picture.people),
            first=first,
            pages=pages,
            pairs=study.settings.pairs,
            states=STATES,
            ways=CAME_BY,
            flag_choices=_FOR_OWNERS if is_owner else FLAGS,
            flag_names=NAMES,
            explained=EXPLAINED,
            left_after=int(LEFT_AFTER.total_seconds() // 60),
        )


# One participant: their way through the study and their answers; excluding them, taking them back, erasing them.

_LONGEST_REASON = 500
_STAGES: dict[str, str] = {
    Stage.RELATION: marked("is asked what they are to the decision"),
    Stage.QUESTIONS: marked("answers questions about themselves"),
    Stage.TASK: marked("reads what is asked of them"),
    Stage.CHECK: marked("answers the comprehension check"),
    Stage.PRACTICE: marked("tries the buttons"),
    Stage.PAIRS: marked("judges pairs"),
    Stage.SECOND_LOOK: marked("takes a second look"),
    Stage.FINISHED: marked("has finished"),
    Stage.SCREENED_OUT: marked("was screened out"),
}
_DESIGNS = {
    PairDesign.REPEAT: marked("shown again, sides swapped"),
    PairDesign.CHECK: marked("two identical people"),
    PairDesign.ANCHOR: marked("shared with others"),
}


class OneParticipantPages(ConsolePages):
    """Viewers see how they went; owners also who they are and what they wrote, and may leave them out or erase them."""

    @get("/admin/participants/{number:number}", "viewer")
    async def one(self, request: Request, problem: str | None = None) -> Response:
        number, study = request.path_params["number"], self._study()

        def look(connection: Connection) -> dict[str, Any]:
            one = one_participant(connection, number)
            answers = next((each.answers for each in answers_of(connection, [number])), [])
            return {
                "one": one,
                "steps": _steps(one),
                "way": CAME_BY[one.came_by],
                "stage": _STAGES[one.stage],
                "flags": flags(answers),
                "history": quotas.exclusion_history(connection, number),
                "same_id": claims(connection, one),
                "own_answers": question_answers_of_number(connection, number),
            }

        return self._page(
            request,
            "one_participant",
            **await self._store.read(look),
            problem=problem,
            longest=_LONGEST_REASON,
            cards=study.cards,
            pairs=study.settings.pairs,
            questions=study.settings.questions,
            words=WORDS,
            explained=EXPLAINED,
            designs=_DESIGNS,
            zip=zip,
            language_names={code: language(code).name for code in available()},
        )

    @post("/admin/participants/{number:number}/exclude", "owner")
    async def exclude(self, request: Request) -> Response:
        number, reason = request.path_params["number"], request.state.form.text("reason", _LONGEST_REASON)
        if not reason:
            return await self.one(request, marked("Say why this participant is left out"))
        by, at = request.state.operator.name, datetime.now(UTC)
        exclude = partial(quotas.exclude, number=number, reason=reason, by=by, at=at)
        return await self._decide(request, "excluded", exclude)

    @post("/admin/participants/{number:number}/include", "owner")
    async def include(self, request: Request) -> Response:
        number, by, at = request.path_params["number"], request.state.operator.name, datetime.now(UTC)
        return await self._decide(request, "included", partial(quotas.include, number=number, by=by, at=at))

    async def _decide(self, request: Request, action: str, change: Callable[[Connection], object]) -> Response:
        number = request.path_params["number"]
        await self._log_change(request, action, about(number), change)
        self._host.watch.forget()
        return self._to(f"/participants/{number}?done={action}")

    @get("/admin/participants/{number:number}/erase", "owner")
    async def ask_erase(self, request: Request, problem: str | None = None) -> Response:
        one = await self._store.read(partial(one_participant, number=request.path_params["number"]))
        backend = database_url(self._host.database).get_backend_name()
        answered = sum(bool(pair.versions) for pair in one.pairs)
        return self._page(request, "erase", problem=problem, way=one, answered=answered, backend=backend)

    @post("/admin/participants/{number:number}/erase", "owner")
    async def erase(self, request: Request) -> Response:
        number, form = request.path_params["number"], request.state.form
        if form.text("number", 20) != str(number):
            return await self.ask_erase(request, f"To erase participant {number}, type their number: {number}")
        # Nothing of what was erased is noted, not even the number.
        in_fits = await self._log_change(
            request, "erased a participant", "", partial(erase, number=number, group_mark=self._host.keys.group_mark)
        )
        self._host.watch.forget()
        with suppress(StoreUnavailable, OSError):  # then the server does it within the hour
            if in_fits:
                await asyncio.to_thread(tidy_fits, self._host.path, self._host.store)
        cleaned = await asyncio.to_thread(clean_files, self._host.database)
        return self._to(f"/participants?done={'erased' if cleaned else 'erased-later'}")


def _steps(one: OneParticipant) -> list[tuple[datetime, str]]:
    """Return the steps of a participant with their times."""
    answers = [(at, one.round) for pair in one.pairs for one in pair.versions if (at := one.answered_at)]
    answered, second = sorted(at for at, _ in answers), sorted(at for at, turn in answers if turn > 1)
    steps = [(one.started_at, marked("agreed to take part"))]
    if answered:
        steps.append((answered[0], marked("gave the first answer")))
        steps.append(
            (
                answered[-1],
                marked("gave the last answer so far") if one.finished_at is None else marked("gave the last answer"),
            )
        )
    if second:
        steps.append((second[0], marked("changed an answer in the second look")))
    if one.finished_at is not None:
        steps.append((one.finished_at, marked("finished")))
    return sorted(steps, key=lambda step: step[0])


_CSV, _PARQUET, _ZIP = "text/csv; charset=utf-8", "application/vnd.apache.parquet", "application/zip"


@dataclass(frozen=True)
class FileWriter:
    """Writer of download files from a study at one moment."""

    study: StudyFolder
    connection: Connection
    who: Mapping[str, bool]
    """Whether only those who finished, and whether those who were excluded too."""

    def judgments(self, path: Path) -> None:
        """Write judgments as CSV or Parquet, by the name of the file."""
        export.judgments(self.connection, **self.who).write(path)

    def judges(self, path: Path) -> None:
        _write(export.judges_to_write(export.judges(self.connection, self.study.settings, **self.who)), path)

    def texts(self, path: Path) -> None:
        texts = export.texts(self.connection, **self.who)
        texts.map(export.defused).to_csv(path, index=False, quoting=csv.QUOTE_ALL)

    def ballots(self, path: Path) -> None:
        """Write the ballots of the last vote: options that a judge approved of, or the place of each option.

        Of a vote whose tally is not shown, as it has too few ballots, there are none.
        """
        vote = last_vote(self.connection)
        has_tally = vote is not None and vote.tally is not None and vote.tally.everyone is not None
        rows = [
            (export.judge_name(one.number), letter_of(option), place if vote and vote.rule.ranks else "approved")
            for one in (cast_ballots(self.connection, vote.id) if vote and has_tally else ())
            for place, option in enumerate(one.ballot, start=1)
        ]
        _write(pd.DataFrame(rows, columns=["judge", "option", "place"]), path)

    def participants(self, path: Path) -> None:
        """Write the list of everyone who was invited, came, left or withdrew, whatever was chosen."""
        names = list(Entry.__dataclass_fields__)
        table = pd.DataFrame([asdict(entry) for entry in roster(self.connection)], columns=names)
        table["number"] = table["number"].astype("Int64")
        typed = {name: table[name].map(export.defused) for name in ("name", "panel_id", "session", "room", "relation")}
        _write(table.assign(**typed), path)

    def bundle(self, path: Path) -> None:
        write_bundle(path, self.study, self.connection)


FILES: dict[str, tuple[Callable[[FileWriter, Path], None], str]] = {
    "judgments.csv": (FileWriter.judgments, _CSV),
    "judgments.parquet": (FileWriter.judgments, _PARQUET),
    "judges.csv": (FileWriter.judges, _CSV),
    "texts.csv": (FileWriter.texts, _CSV),
    "ballots.csv": (FileWriter.ballots, _CSV),
    "participants.csv": (FileWriter.participants, _CSV),
    "bundle.zip": (FileWriter.bundle, _ZIP),
}


class DownloadPages(ConsolePages):
    """Downloads, for owners."""

    @get("/admin/downloads", "owner")
    async def downloads(self, request: Request) -> Response:
        if self._host.study is None:
            return self._to("")
        return self._page(request, "downloads", people=await self._store.read(export.participant_counts))

    @get("/admin/downloads/{file}", "owner")
    async def download(self, request: Request) -> Response:
        study, name = self._host.study, str(request.path_params["file"])
        if study is None or name not in FILES:
            raise HTTPException(404)
        write, media_type = FILES[name]
        who = {option: option in request.query_params for option in ("finished_only", "with_excluded")}
        folder = TemporaryDirectory(prefix="fairwise-")
        path = Path(folder.name) / name

        def write_file() -> None:
            with snapshot(self._host.database) as connection:
                write(FileWriter(study, connection, who), path)

        await self._log_change(request, "downloaded", name, lambda _: None)
        try:
            await asyncio.to_thread(write_file)
        except BaseException:
            folder.cleanup()
            raise
        return _TemporaryFile(folder, path, media_type=media_type, filename=_file_name(study, name))


class _TemporaryFile(FileResponse):
    """A file whose folder goes when it was sent, also if whoever asked for it hung up before the first byte."""

    def __init__(self, folder: TemporaryDirectory[str], path: Path, *, media_type: str, filename: str) -> None:
        super().__init__(path, media_type=media_type, filename=filename, stat_result=path.stat())
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._folder:
            await super().__call__(scope, receive, send)


def _file_name(study: StudyFolder, name: str) -> str:
    """Return a file name of the study's title and the day, in letters that every system accepts."""
    title = re.sub(r"[^a-z0-9]+", "-", study.settings.title.lower()).strip("-")[:40].strip("-") or "study"
    stem, _, ending = name.partition(".")
    return f"{title}-{stem}-{datetime.now(UTC):%Y-%m-%d}.{ending}"


def _write(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False, lineterminator="\n")
