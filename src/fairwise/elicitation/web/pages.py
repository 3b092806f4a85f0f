"""The pages of a study: from values to HTML, and nothing else."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairwise.elicitation.languages import Language, language, marked
from fairwise.elicitation.web.assets import read_static_files, version_of
from fairwise.elicitation.web.rehearsal import MEANINGS, check_questions, practice_pair
from fairwise.elicitation.web.views import Pair

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fairwise.elicitation.folder import StudyFolder
    from fairwise.elicitation.settings import StudySettings
    from fairwise.elicitation.web.views import Answered, Closing, Me, Receipt

# As many characters as the fields take; a browser sends each line break as two.
LONGEST_WHY = 2_000
LONGEST_CLOSING = 10_000

CLOSING_QUESTIONS = (
    ("rules", marked("How did you decide? If you had rules of your own, please tell us in your own words.")),
    ("expressible", marked("Could you say what you think is fair with these answers? If not, what was missing?")),
    ("comments", marked("Is there anything else you want to tell us?")),
)
CONFIDENCE = (
    (1, marked("Not at all sure")),
    (2, marked("A little sure")),
    (3, marked("Somewhat sure")),
    (4, marked("Quite sure")),
    (5, marked("Very sure")),
)

# Longer values scroll in a box of their own, so that the answers stay within reach.
LONG_VALUE = 400
# Cards that are kept as HTML, some kilobytes each.
MOST_KEPT = 2000
# Rows of the two cards are lined up by a grid of this many lines (see study.css).
MOST_ALIGNED = 100


class Pieces:
    """Parts of the page of a pair that many pages have in common, each made once and kept."""

    def __init__(self, environment: Environment) -> None:
        made: Any = environment.get_template("pieces.html").module
        self.card = lru_cache(MOST_KEPT)(made.card)
        self.buttons = lru_cache(made.buttons)
        self.meanings = lru_cache(made.meanings)


class Pages:
    """Every page a participant may see, in one language; a study in several languages has several of these.

    ``settings`` say their words in this language; ``offered`` are all languages, if there are several. ``consent_html``
    and ``task_html`` are sanitised already; everything else is escaped here. Whatever is called a path (``me.path``,
    ``resume``, ``back``) comes with the prefix before it.
    """

    def __init__(
        self,
        settings: StudySettings,
        consent_html: str,
        task_html: str,
        prefix: str = "",
        *,
        spoken: Language | None = None,
        offered: Sequence[Language] = (),
    ) -> None:
        prefix = prefix.rstrip("/")
        self.language = spoken or language(settings.languages[0])
        self.say = self.language.say
        self.static_files = read_static_files()
        self.settings = settings
        environment = Environment(
            extensions=["jinja2.ext.i18n"],
            loader=PackageLoader("fairwise.elicitation.web"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.policies["ext.i18n.trimmed"] = True
        environment.install_gettext_translations(self.language.catalogue, newstyle=True)  # type: ignore[attr-defined]
        environment.globals |= {
            "_": self.say,  # faster than Jinja's own, which is for texts with values in them
            "settings": settings,
            "language": self.language,
            "offered": offered,
            "prefix": prefix,
            "style": self._address(prefix, "study.css"),
            "script": self._address(prefix, "study.js"),
            "consent_html": _below_heading(consent_html),
            "task_html": _below_heading(task_html),
            "answers": [
                {
                    "key": key,
                    "value": answer.value,
                    "words": settings.words_of(answer),
                    "means": self.say(MEANINGS[answer]),
                }
                for key, answer in enumerate(settings.allowed_answers, start=1)
            ],
            "closing_questions": [(name, self.say(text)) for name, text in CLOSING_QUESTIONS],
            "confidence_words": [(value, self.say(words)) for value, words in CONFIDENCE],
            "LONG_VALUE": LONG_VALUE,
            "LONGEST_CLOSING": LONGEST_CLOSING,
            "LONGEST_WHY": LONGEST_WHY,
        }
        environment.globals["pieces"] = Pieces(environment)
        self._templates = {name: environment.get_template(name) for name in environment.list_templates(["html"])}

    def consent(self, *, start_key: str, csrf: str, resume: str | None, problem: str | None = None) -> str:
        """What the study asks for; ``resume`` is where this device left off, if it did."""
        return self._render("consent", start_key=start_key, csrf=csrf, resume=resume, problem=problem)

    def declined(self) -> str:
        """After "I do not agree"."""
        return self._render("declined")

    def withdrawn(self) -> str:
        """After everything was deleted."""
        return self._render("withdrawn")

    def task(self, me: Me, *, problem: str | None = None) -> str:
        """What there is to do, and how."""
        return self._render("task", me=me, problem=problem)

    def check(
        self,
        me: Me,
        *,
        tries_left: int,
        problem: str | None = None,
        wrong: Collection[str] = (),
        given: Mapping[str, str] | None = None,
    ) -> str:
        """Questions about the buttons; ``wrong`` names those to look at again, ``given`` is what was chosen."""
        return self._render(
            "check",
            me=me,
            tries_left=tries_left,
            questions=check_questions(self.settings, self.say),
            problem=problem,
            wrong=wrong,
            given=given or {},
        )

    def practice(self, me: Me, *, problem: str | None = None) -> str:
        """A made-up pair, whose answer is not kept."""
        a, b = practice_pair(self.say)
        made_up = Pair(number=1, total=1, answered=0, a=a, b=b, given=None, key="", nonce="", stamp="")
        return self.pair(me, made_up, saved=False, problem=problem, practice=True)

    def pair(
        self,
        me: Me,
        pair: Pair,
        *,
        saved: bool,
        problem: str | None = None,
        problem_at: str = "answer",
        practice: bool = False,
        why: str | None = None,
        confidence: int | None = None,
    ) -> str:
        """Two people and the question; ``problem_at`` is the field that a problem is about.

        ``why`` and ``confidence`` are what was sent and could not be saved; without them, those of the current answer.
        """
        differ: Sequence[bool] = ()
        if self.settings.mark_differences:
            differ = pair.a.differences(pair.b)
        return self._render(
            "pair",
            me=me,
            pair=pair,
            cards=(("A", pair.a), ("B", pair.b)),
            given=pair.given,
            why=why if why is not None else (pair.given.why if pair.given else ""),
            confidence=confidence if confidence is not None else (pair.given.confidence if pair.given else None),
            differ=differ,
            aligned=len(pair.a.rows) < MOST_ALIGNED,
            saved=saved,
            problem=problem,
            problem_at=problem_at,
            practice=practice,
        )

    def review(self, me: Me, answered: Sequence[Answered], *, saved: bool = False, problem: str | None = None) -> str:
        """All pairs with their answers."""
        return self._render(
            "review",
            me=me,
            answered=[
                (line.number, None if line.answer is None else self.settings.words_of(line.answer)) for line in answered
            ],
            left=[line.number for line in answered if line.answer is None],
            saved=saved,
            problem=problem,
        )

    def closing(self, me: Me, values: Closing, *, problem: str | None = None, problem_at: str = "rules") -> str:
        """The three open questions; ``problem_at`` is the field that a problem is about."""
        return self._render("closing", me=me, values=values, problem=problem, problem_at=problem_at)

    def thanks(self, me: Me, receipt: Receipt) -> str:
        """The end, with a receipt."""
        return self._render("thanks", me=me, receipt=receipt, finished=self.language.moment(receipt.finished_at))

    def withdraw(self, me: Me, *, problem: str | None = None) -> str:
        """The question whether they are sure."""
        return self._render("withdraw", me=me, problem=problem)

    def message(self, *, heading: str, text: str, back: str | None = None) -> str:
        """Anything that went another way than planned."""
        return self._render("message", heading=heading, text=text, back=back)

    def _address(self, prefix: str, name: str) -> str:
        return f"{prefix}/static/{name}?v={version_of(self.static_files[name][0])}"

    def _render(self, name: str, *, me: Me | None = None, problem: str | None = None, **values: Any) -> str:
        return self._templates[f"{name}.html"].render(me=me, problem=problem, **values)


def pages_of(folder: StudyFolder, prefix: str) -> dict[str, Pages]:
    """Return the pages of a study in each of its languages."""
    languages = [edition.language for edition in folder.editions.values()]
    offered = languages if len(languages) > 1 else []
    return {
        code: Pages(
            edition.settings,
            edition.consent_html,
            edition.task_html,
            prefix,
            spoken=edition.language,
            offered=offered,
        )
        for code, edition in folder.editions.items()
    }


def _below_heading(html: str) -> Markup:
    """A document under the heading of its page: where it has a first-level heading, all of them go one level down."""
    if "<h1" in html:
        html = re.sub(r"(</?h)([1-5])\b", lambda found: f"{found[1]}{int(found[2]) + 1}", html)
    return Markup(html)  # noqa: S704 - sanitised by whoever read it
