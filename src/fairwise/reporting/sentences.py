"""Sentences that other parts of Fairwise say in English, such as a certificate's warnings, in the language of a report.

They are found again by their patterns. What is not known here stays as it is, and a test makes every one of them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from fairwise.languages import marked

if TYPE_CHECKING:
    from fairwise.languages import Language

# Parts before wholes that could be taken for them: the first pattern that fits is the one.
_PATTERNS = (
    # Why a search ended, and what may help.
    marked("at its limit of iterations"),
    marked("at its time limit"),
    marked("because it was interrupted"),
    marked("because it had long found nothing better"),
    marked("because its oracle found nothing more"),
    marked("A larger max_iter lets it go on."),
    marked("A larger time_limit lets it go on."),
    marked("Another fit may go on longer."),
    marked("Another estimator may."),
    # Warnings of a certificate.
    marked("The search ended {reason}: the rules are not kept yet. {advice}"),
    marked(
        "The search ended {reason}: up to {left} of the error may be left to gain, as far as its oracle can tell. "
        "{advice}"
    ),
    marked("The search ended {reason}: up to {left} of the error may be left to gain. {advice}"),
    marked(
        "One label for everyone is what decides {share} of the time: the rules leave little else "
        "(larger gamma or eta allow more)."
    ),
    marked(
        "One label for everyone is what decides {share} of the time: the rules leave little else "
        "(or the search missed something better)."
    ),
    marked(
        "One amount for everyone is what decides {share} of the time: the rules leave little else "
        "(larger gamma or eta allow more)."
    ),
    marked(
        "One amount for everyone is what decides {share} of the time: the rules leave little else "
        "(or the search missed something better)."
    ),
    marked("A limit is exceeded: {which}"),
    marked("the largest violation of a pair is {by} above gamma = {gamma}."),
    marked("the mean excess is {by} above eta = {eta}."),
    marked("budgets of judges are overspent, {count} of {total}, by up to {by}."),
    marked("rules about groups are broken, {count} of {total}, by up to {by}."),
    # A rule that decides without chance, and why it may be below what is proved.
    marked("classifier {number} of the mixture"),
    marked("a classifier found, without weight in the mixture"),
    marked("{label} where its probability is at least {threshold}"),
    marked("a threshold on a mixture is outside that class"),
    marked("it breaks the rules and {why}"),
    # Kinds of rules.
    marked("{kind}, deciding between {size} amounts"),
    marked("decision trees of depth {depth} over all {thresholds} thresholds of {columns} column"),
    marked("decision trees of depth {depth} over all {thresholds} thresholds of {columns} columns"),
    marked("decision trees of depth {depth} over {used} of {thresholds} thresholds of {columns} column"),
    marked("decision trees of depth {depth} over {used} of {thresholds} thresholds of {columns} columns"),
    marked("linear thresholds, by coordinate descent on the 0/1 cost"),
    marked("linear thresholds, by least squares of the costs"),
    marked("linear scores for each label, by {how}"),
    marked("coordinate descent on the cost, label by label"),
    marked("least squares of the costs"),
    marked("multinomial logistic regression"),
    marked("linear thresholds, by logistic regression and steps that gain more than chance"),
    marked("{estimator} behind a Pipeline, by fits to samples drawn by cost"),
    marked("{estimator} behind a Pipeline, by cost-weighted fits"),
    marked("{estimator}, by fits to samples drawn by cost"),
    marked("{estimator}, by cost-weighted fits"),
    # How far participants agree.
    marked("agree well"),
    marked("agree fairly well, enough for tentative conclusions"),
    marked("agree somewhat"),
    marked("agree only a little more than chance would have it"),
    marked("agree no more clearly than chance might have it"),
    marked("agree less often than chance would have it: they disagree systematically"),
    marked("no pair was answered by two judges"),
    marked("all their answers are the same answer"),
    # What a second round changed, and how arms differ.
    marked("Nobody came back for a second round, so no change can be told."),
    marked("{back} person came back; {left} answered only round 1."),
    marked("{back} people came back; {left} answered only round 1."),
    marked("{count} person answered only round 2: their answers are not compared."),
    marked("{count} people answered only round 2: their answers are not compared."),
    marked("Only one person came back, so nothing can be said beyond that person."),
    marked("Nobody changed an answer."),
    marked("There are no two arms, so talking cannot be told apart from being asked twice."),
    marked("No arm can be compared with, so talking cannot be told apart from being asked twice."),
    marked("What would be learned before and after cannot be compared for this kind of model."),
    marked(
        "People talked in rooms. Intervals are over people as if each had answered alone, so for other rooms they are "
        "too narrow."
    ),
    marked("For p-values, arms are reassigned at random to {count} people."),
    marked("For p-values, arms are reassigned at random to {count} people within {blocks} blocks."),
    marked("For p-values, arms are reassigned at random to {count} rooms; each room counts as one."),
    marked(
        "For p-values, arms are reassigned at random to {count} rooms within {blocks} blocks; each room counts as one."
    ),
    marked("{count} person is recorded in another arm than most of their room and is analysed in the arm of the room."),
    marked(
        "{count} people are recorded in another arm than most of their room and are analysed in the arm of the room."
    ),
    marked("{count} person without a known block keeps their arm whenever arms are reassigned."),
    marked("{count} people without a known block keep their arms whenever arms are reassigned."),
    marked("{count} person has no arm and is in no comparison."),
    marked("{count} people have no arm and are in no comparison."),
    marked("Nobody of the arm {name} came back."),
    marked("As large a share of people came back in both arms."),
    marked("The two arms called two people the same equally often in round 1."),
    marked("The share of answers that people change when they are asked again is the same in both arms."),
    marked("The share of answers changed to what most others said in round 1 is the same in both arms."),
    marked("The share of answers changed to what most of the reasons are for is the same in both arms."),
    marked("Agreement (alpha) moves as far from round 1 to round 2 in both arms."),
    marked("The error of the model learned from an arm's answers moves as far in both arms."),
    marked("The prices of an arm's judgments, added up, move as far in both arms."),
    marked("The largest gap between groups' rates of the good outcome moves as far in both arms."),
    marked("As many people are treated differently by an arm's models of before and after."),
    # What is overspent, and outcomes that have no words of their own.
    marked("the worst of {count} judge"),
    marked("the worst of {count} judges"),
    marked("judge {name}"),
    marked("panel"),
    marked("not known"),
    marked("{leaf} for everyone"),
    marked("label {name}"),
)
_LONGEST = 1000
"""Characters of a sentence: where names may stand at several places, finding them takes a power of the length."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?P<percent>%?)")
_PLACE = re.compile(r"\{(\w+)\}")
_GROUP_RULE = re.compile(r"(?P<moment>\w+) (?P<sign>[+-]) (?P<event>\S+) (?P<group>.*)", re.DOTALL)
_RATES = {
    ("DemographicParity", "all"): marked("share with label 1"),
    ("ErrorRateParity", "all"): marked("error rate"),
    ("TruePositiveRateParity", "label=1"): marked("true positive rate"),
    ("FalsePositiveRateParity", "label=0"): marked("false positive rate"),
    ("EqualizedOdds", "label=1"): marked("true positive rate"),
    ("EqualizedOdds", "label=0"): marked("false positive rate"),
}


def translated(text: str, language: Language) -> str:
    """A sentence in this language, with what stands in its places."""
    if language.code == "en" or len(text) > _LONGEST:
        return text
    for pattern in _PATTERNS:
        found = _compiled(pattern).fullmatch(text)
        if found is not None:
            parts = {name: _part(part, language) for name, part in found.groupdict().items()}
            return language.translate(pattern).format(**parts)
    return text


def group_rule(name: str, language: Language) -> str:
    """A rule of fairlearn's about a group in words, as in "false positive rate: Female above everyone"."""
    found = _GROUP_RULE.fullmatch(name)
    rate = None if found is None else _RATES.get((found["moment"], found["event"]))
    if found is None or rate is None:
        return name
    if found["sign"] == "+":
        text = language.translate("{rate}: {group} above everyone")
    else:
        text = language.translate("{rate}: {group} below everyone")
    return text.format(rate=language.translate(rate), group=found["group"])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    pieces = _PLACE.split(pattern)
    return re.compile("".join(f"(?P<{piece}>.+?)" if at % 2 else re.escape(piece) for at, piece in enumerate(pieces)))


def _part(text: str, language: Language) -> str:
    number = _NUMBER.fullmatch(text)
    if number is None:
        return translated(text, language)
    digits = language.decimal(text.removesuffix("%"))
    return f"{digits}\N{NO-BREAK SPACE}%" if number["percent"] else digits
