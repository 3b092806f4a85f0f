"""Everyone who takes part, in a table that stays usable with a thousand of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import ceil
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Connection
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from fairwise.judgments.answer import PairDesign
from fairwise.store import quotas
from fairwise.store.engine import database_url
from fairwise.store.erasure import about, clean_files, erase
from fairwise.store.errors import StoreUnavailable
from fairwise.store.housekeeping import tidy_fits
from fairwise.store.participants import question_answers_of_number
from fairwise.store.recruitment import same_ids
from fairwise.store.roster import OneParticipant, PersonalDetails, answers_of, claims, one_participant, personal_details
from fairwise.study.quality import EXPLAINED, NAMES, WORDS, flags
from fairwise.study.recruitment import PANELS
from fairwise.study.settings import Stage
from fairwise.study.texts import available, language, marked
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.shared.forms import whole_number
from fairwise.web.shared.watch import LEFT_AFTER, STATES, Person

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
    """Which participants, in which order, and which page of them; what makes no sense is not taken."""

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

    def among(
        self, people: Sequence[Person], who: Mapping[int, PersonalDetails], same_id: Container[int] = ()
    ) -> list[Person]:
        """Those whom it takes, in its order; `same_id` are those whose id others say they have."""
        if self.flag == SAME_ID:
            people = [person for person in people if person.number in same_id]
        found = [person for person in people if self._takes(person, who)]
        # By number where nothing else tells two apart, whichever way the rest goes.
        return sorted(found, key=_SORTED_BY[self.sort], reverse=self.down)

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
        known = who.get(person.number)
        return known is not None and any(self.find.lower() in part.lower() for part in known[:3])

    def query(self, **changes: Any) -> str:
        """The same with changes, as the end of an address."""
        new = replace(self, **changes)
        given = {"state": new.state, "flag": new.flag, "came_by": new.came_by, "find": new.find}
        given |= {"sort": new.sort if new.sort != "number" or new.down else "", "order": "down" if new.down else ""}
        given |= {"page": str(new.page) if new.page > 1 else ""}
        return "?" + urlencode({name: value for name, value in given.items() if value})


def _has_flag(person: Person, flag: str) -> bool:
    if flag in ("", SAME_ID, EXCLUDED):
        return flag != EXCLUDED or person.excluded
    if flag in (ANY_FLAG, NO_FLAG):
        return bool(person.flags) == (flag == ANY_FLAG)
    return any(found.kind == flag for found in person.flags)


class ParticipantsPages(ConsolePages):
    """Viewers see numbers, states and flags; owners also who it is."""

    async def participants(self, request: Request) -> Response:
        study, is_owner = self._host.study, request.state.operator.is_owner
        if study is None:
            return self._to("")
        chosen = ParticipantFilter.read(request.query_params, is_owner=is_owner)
        picture = await self._beside(self._host.watch.now, study)
        who = await self._read(personal_details) if is_owner else {}
        same_id = await self._read(same_ids) if is_owner else {}
        found = chosen.among(picture.people, who, same_id)
        pages = max(1, ceil(len(found) / PAGE_SIZE))
        chosen = replace(chosen, page=min(chosen.page, pages))
        first = (chosen.page - 1) * PAGE_SIZE
        return self._page(
            request,
            "participants",
            chosen=chosen,
            people=found[first : first + PAGE_SIZE],
            who=who,
            same_id=same_id,
            ids_of_several=len({min(number, *others) for number, others in same_id.items()}),
            found=len(found),
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

    routes = (ConsoleRoute("GET", "/admin/participants", participants, "viewer"),)


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
            **await self._read(look),
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

    async def exclude(self, request: Request) -> Response:
        number, reason = request.path_params["number"], request.state.form.text("reason", _LONGEST_REASON)
        if not reason:
            return await self.one(request, marked("Say why this participant is left out"))
        by, at = request.state.operator.name, datetime.now(UTC)
        exclude = partial(quotas.exclude, number=number, reason=reason, by=by, at=at)
        return await self._decide(request, "excluded", exclude)

    async def include(self, request: Request) -> Response:
        number, by, at = request.path_params["number"], request.state.operator.name, datetime.now(UTC)
        return await self._decide(request, "included", partial(quotas.include, number=number, by=by, at=at))

    async def _decide(self, request: Request, action: str, change: Callable[[Connection], object]) -> Response:
        number = request.path_params["number"]
        await self._noted(request, action, about(number), change)
        self._host.watch.forget()
        return self._to(f"/participants/{number}?done={action}")

    async def ask_erase(self, request: Request, problem: str | None = None) -> Response:
        one = await self._read(partial(one_participant, number=request.path_params["number"]))
        backend = database_url(self._host.database).get_backend_name()
        answered = sum(bool(pair.versions) for pair in one.pairs)
        return self._page(request, "erase", problem=problem, way=one, answered=answered, backend=backend)

    async def erase(self, request: Request) -> Response:
        number, form = request.path_params["number"], request.state.form
        if form.text("number", 20) != str(number):
            return await self.ask_erase(request, f"To erase participant {number}, type their number: {number}")
        # Nothing of what was erased is noted, not even the number.
        in_fits = await self._noted(
            request, "erased a participant", "", partial(erase, number=number, group_mark=self._host.keys.group_mark)
        )
        self._host.watch.forget()
        with suppress(StoreUnavailable, OSError):  # then the server does it within the hour
            if in_fits:
                await self._beside(tidy_fits, self._host.path, self._host.store)
        cleaned = await self._beside(clean_files, self._host.database)
        return self._to(f"/participants?done={'erased' if cleaned else 'erased-later'}")

    routes = (
        ConsoleRoute("GET", "/admin/participants/{number:number}", one, "viewer"),
        ConsoleRoute("POST", "/admin/participants/{number:number}/exclude", exclude, "owner"),
        ConsoleRoute("POST", "/admin/participants/{number:number}/include", include, "owner"),
        ConsoleRoute("GET", "/admin/participants/{number:number}/erase", ask_erase, "owner"),
        ConsoleRoute("POST", "/admin/participants/{number:number}/erase", erase, "owner"),
    )


def _steps(found: OneParticipant) -> list[tuple[datetime, str]]:
    """What happened when, as far as it was kept."""
    answers = [(at, one.round) for pair in found.pairs for one in pair.versions if (at := one.answered_at)]
    said, second = sorted(at for at, _ in answers), sorted(at for at, turn in answers if turn > 1)
    steps = [(found.started_at, marked("agreed to take part"))]
    if said:
        steps.append((said[0], marked("gave the first answer")))
        steps.append(
            (
                said[-1],
                marked("gave the last answer so far") if found.finished_at is None else marked("gave the last answer"),
            )
        )
    if second:
        steps.append((second[0], marked("changed an answer in the second look")))
    if found.finished_at is not None:
        steps.append((found.finished_at, marked("finished")))
    return sorted(steps, key=lambda step: step[0])
