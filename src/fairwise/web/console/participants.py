"""Everyone who takes part, in a table that stays usable with a thousand of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fairwise.store.panel_ids import same_ids
from fairwise.store.progress import identities
from fairwise.study.arrivals import PANELS
from fairwise.study.quality import EXPLAINED, NAMES
from fairwise.web.console.base import ConsolePages, Route
from fairwise.web.shared.watch import LEFT_AFTER, STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from fastapi.responses import Response
    from starlette.datastructures import QueryParams
    from starlette.requests import Request

    from fairwise.store.progress import Identity
    from fairwise.web.shared.watch import Person

PAGE_SIZE = 50
ANY_FLAG, NO_FLAG, EXCLUDED, SAME_ID = "any", "none", "excluded", "same_id"
CAME_BY = {"open": "open link", "personal": "personal link", "room": "room", **PANELS}
FLAGS = {ANY_FLAG: "any flag", NO_FLAG: "no flag", EXCLUDED: "excluded", **NAMES}
_FOR_OWNERS = {**FLAGS, SAME_ID: "one panel’s id for several"}
_SORTED_BY: dict[str, Callable[[Person], Any]] = {
    "number": lambda person: person.number,
    "state": lambda person: list(STATES).index(person.state),
    "answered": lambda person: person.answered,
    "seconds": lambda person: (person.seconds is None, person.seconds or 0.0),
    "last": lambda person: person.last_at,
    "flags": lambda person: len(person.flags),
}


@dataclass(frozen=True)
class Wanted:
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
    def read(cls, query: QueryParams, *, is_owner: bool) -> Wanted:
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
            page=max(1, int(page)) if page.isascii() and page.isdigit() and len(page) < 7 else 1,
        )

    def among(
        self, people: Sequence[Person], who: Mapping[int, Identity], same_id: Container[int] = ()
    ) -> list[Person]:
        """Those who are wanted, in the order that is wanted; `same_id` are those whose id others say they have."""
        if self.flag == SAME_ID:
            people = [person for person in people if person.number in same_id]
        found = [person for person in people if self._takes(person, who)]
        # By number where nothing else tells two apart, whichever way the rest goes.
        return sorted(found, key=_SORTED_BY[self.sort], reverse=self.down)

    def _takes(self, person: Person, who: Mapping[int, Identity]) -> bool:
        return (
            self.state in ("", person.state)
            and self.came_by in ("", person.came_by)
            and _has_flag(person, self.flag)
            and self._finds(person, who)
        )

    def _finds(self, person: Person, who: Mapping[int, Identity]) -> bool:
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

    routes = (Route("GET", "/admin/participants", "participants", "viewer"),)

    async def participants(self, request: Request) -> Response:
        study, is_owner = self._host.study, request.state.operator.is_owner
        if study is None:
            return self._to("")
        wanted = Wanted.read(request.query_params, is_owner=is_owner)
        picture = await self._beside(self._host.watch.now, study)
        who = await self._read(identities) if is_owner else {}
        same_id = await self._read(same_ids) if is_owner else {}
        found = wanted.among(picture.people, who, same_id)
        pages = max(1, ceil(len(found) / PAGE_SIZE))
        wanted = replace(wanted, page=min(wanted.page, pages))
        first = (wanted.page - 1) * PAGE_SIZE
        return self._page(
            request,
            "participants",
            wanted=wanted,
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
