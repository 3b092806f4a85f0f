"""Help inside the console: the way of a study, and what its words mean."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from fairwise.study.texts import marked
from fairwise.web.console.base import ConsolePages, ConsoleRoute

# One word for one thing: what pages of the console say, and what is meant.
GLOSSARY = (
    (marked("Study"), marked("One question, asked about pairs of people from one table. A folder holds one study.")),
    (marked("Operator"), marked("Someone who runs the study. Owners may change everything, viewers only look.")),
    (
        marked("Participant"),
        marked("Someone who takes part and answers. In downloads and in Python they are called judges."),
    ),
    (
        marked("Person A, person B"),
        marked("The two people of your table who are compared. They are not asked anything."),
    ),
    (
        marked("Outcome"),
        marked("What became of the people of the table, in one column with two values. Participants never see it."),
    ),
    (marked("Pair"), marked("Two people, shown side by side.")),
    (marked("Answer"), marked("What a participant pressed about a pair. As data for a model it is called a judgment.")),
    (
        marked("Anchor"),
        marked("A pair that several participants are shown, so that it can be seen how far they agree."),
    ),
    (
        marked("Repeat"),
        marked("A pair that is shown to somebody twice, sides swapped, so that it can be seen how steady they are."),
    ),
    (
        marked("Check"),
        marked("A pair of two people who look the same: whoever does not say so was perhaps not reading."),
    ),
    (marked("Flag"), marked("A reason to look at a participant more closely. Nobody is left out by it.")),
    (marked("Trial"), marked("The whole study walked through by you. Nothing of it is kept.")),
    (marked("Simulated"), marked("Answered by a program, to try things out. Never counted as people.")),
    (
        marked("Model"),
        marked(
            "A way to decide about people by what is in their columns, learned from the outcomes and from the answers."
        ),
    ),
    (
        marked("By lot"),
        marked(
            "A model may decide by lot among several rules: then it gives a person the good outcome with a probability."
        ),
    ),
    (marked("Rule"), marked("One of the simple models among which the lot is drawn.")),
    (
        marked("Followed, not followed"),
        marked("Whether the model treats the two people of a pair as a participant asked for, within the tolerance."),
    ),
    (
        marked("Wrong decisions in 100"),
        marked("How often a model decides otherwise than the outcome in the table, of 100 people."),
    ),
    (
        marked("What following costs"),
        marked("How many more decisions in 100 are wrong than those of a model that ignores the answers."),
    ),
    (
        marked("Tolerance"),
        marked(
            "How many percentage points the chances of two people may differ and still be the same. Experts call it γ."
        ),
    ),
    (
        marked("Allowance"),
        marked("What may be given up on average: how far the model may go beyond the tolerance. Experts call it η."),
    ),
    (
        marked("What is proved"),
        marked(
            "What is certain about a model because it was computed, and not only found. The page of each model says it."
        ),
    ),
)


class HelpPages(ConsolePages):
    """For everyone with an account."""

    async def show(self, request: Request) -> Response:
        return self._page(request, "help", glossary=GLOSSARY)

    routes = (ConsoleRoute("GET", "/admin/help", show, "viewer"),)
