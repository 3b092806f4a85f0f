"""The first page of a report: its message in one short paragraph, for someone who reads nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.numbers import share_difference
from fairwise.reporting.measures import ErrorWords

if TYPE_CHECKING:
    from fairwise.auditing.findings import Findings
    from fairwise.reporting.words import Words


def message(findings: Findings, words: Words) -> str:
    """What was followed and what that costs, who asked, how good the model is, and how sure that is."""
    sentences = [
        _cost(findings, words),
        _affected(findings, words),
        _constant(findings, words),
        *_caution(findings, words),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _cost(findings: Findings, words: Words) -> str:
    say, overall, n = words.translate, findings.audit.overall, findings.panel.n_judges
    asked, missed = int(overall["in_force"].loc["value"]), int(overall["not_followed"].loc["value"])
    if not asked:
        nobody = words.ngettext(
            "{people} was asked, and asked for nothing.", "{people} were asked, and nobody asked for anything.", n
        )
        begun, free = nobody.format(people=words.people(n, simulated=findings.simulated)), say("So the model is free.")
        return f"{begun} {free} {_error_alone(findings, words)}"
    if findings.simulated:
        what = words.ngettext("what {count} simulated person asked for", "what {count} simulated people asked for", n)
    else:
        what = words.ngettext("what {count} person asked for", "what {count} people asked for", n)
    names = {"what": what.format(count=words.counted(n))}
    names["share"] = f"{words.short_in_100((asked - missed) / asked)}\N{NO-BREAK SPACE}%"
    begun = (say("The model follows {share} of {what}.") if missed else say("The model follows {what}.")).format(
        **names
    )
    if findings.plain_error is None:
        return f"{begun} {_error_alone(findings, words)}"
    if not findings.measure.is_share:
        return f"{begun} {_mean_cost(findings, words)}"
    return _wrong_decisions(findings, words, names, begun if missed else None)


def _error_alone(findings: Findings, words: Words) -> str:
    error = findings.certificate.error
    if findings.measure.is_share:
        wrong = words.short_in_100(error)
        return words.translate("It is wrong {wrong} times in 100.").format(wrong=wrong)
    told = ErrorWords(findings.measure, words)
    return f"{told.name}: {told.error(error)}."


def _mean_cost(findings: Findings, words: Words) -> str:
    """What decisions cost with and without what people asked for."""
    told, error, plain = ErrorWords(findings.measure, words), findings.certificate.error, findings.plain_error
    assert plain is not None
    names = {"measure": told.name, "error": told.error(error), "without": told.error(plain)}
    if told.shows(error, plain):
        text = words.translate("{measure}: {error}, instead of {without} without that.").format(**names)
    else:
        text = words.translate("{measure}: {error}, with that or without.").format(**names)
    return f"{text}{_of_mean(findings, words)}"


def _of_mean(findings: Findings, words: Words) -> str:
    """Of several rules that say amounts people get the mean, which misses less than one drawn by lot."""
    told, proved = ErrorWords(findings.measure, words), findings.certificate
    if findings.amounts is None or not told.shows(proved.error, proved.mean_error):
        return ""
    text = words.translate("That is of rules drawn by lot; the mean that people are given misses by less: {error}.")
    return f" {text.format(error=told.error(proved.mean_error))}"


def _wrong_decisions(findings: Findings, words: Words, names: dict[str, str], begun: str | None) -> str:
    """How many more decisions are wrong; ``begun`` says how much is followed, where that is not all."""
    say, error, plain = words.translate, findings.certificate.error, findings.plain_error
    assert plain is not None
    cost = share_difference(error, plain)
    names |= {
        "wrong": words.short_in_100(error),
        "without": words.short_in_100(plain),
        "cost": words.number(cost.normalize() + 0),
    }
    if begun is not None:
        if cost > 0:
            costs = words.ngettext(
                "That costs {cost} more wrong decision in 100 ({wrong} instead of {without}).",
                "That costs {cost} more wrong decisions in 100 ({wrong} instead of {without}).",
                float(cost),
            )
        elif cost == 0:
            costs = say("That costs nothing that shows: it is wrong {wrong} times in 100, and so it would be without.")
        else:
            costs = say("That costs nothing: it is wrong {wrong} times in 100, the best found without {without} times.")
        return f"{begun} {costs.format(**names)}"
    if cost > 0:
        costs = words.ngettext(
            "Following {what} costs {cost} more wrong decision in 100 ({wrong} instead of {without}).",
            "Following {what} costs {cost} more wrong decisions in 100 ({wrong} instead of {without}).",
            float(cost),
        )
    elif cost == 0:
        costs = say(
            "Following {what} costs nothing that shows. The model is wrong {wrong} times in 100, with it or without."
        )
    else:
        costs = say(
            "Following {what} costs nothing. "
            "The model is wrong {wrong} times in 100, the best found without {without} times."
        )
    return costs.format(**names)


def _affected(findings: Findings, words: Words) -> str:
    """Whether those who were asked are touched by such decisions themselves."""
    say, n, affected = words.translate, findings.panel.n_judges, findings.panel.n_affected
    if findings.simulated:
        return say("No real person was asked.")
    if affected is None:
        return say("Nobody asked them if such decisions affect them.")
    if n == 1:
        return say("This person is affected too.") if affected else say("This person is not affected.")
    if not affected:
        return say("None of the {all} is affected.").format(all=words.counted(n))
    if affected == n:
        return say("All {all} are affected themselves.").format(all=words.counted(n))
    some = words.ngettext(
        "{count} of the {all} is affected too.", "{count} of the {all} are affected themselves.", affected
    )
    return some.format(count=words.counted(affected), all=words.counted(n))


def _constant(findings: Findings, words: Words) -> str:
    """Against the simplest rule there is: to say the same of everyone."""
    say, guess = words.translate, findings.guess_error
    if guess is None:
        return ""
    if not findings.measure.is_share:
        told = ErrorWords(findings.measure, words).error(guess)
        return say("Always saying “{label}” would make it {guess}.").format(label=findings.guess_label, guess=told)
    better = share_difference(guess, findings.certificate.error)
    names = {
        "label": findings.guess_label,
        "better": words.number(better.normalize() + 0),
        "guess": words.short_in_100(guess),
    }
    if better > 0:
        sentence = say("The model beats always saying “{label}” by {better} in 100.")
    elif better == 0:
        sentence = say("It does not beat always saying “{label}”: that too is wrong {guess} times in 100.")
    else:
        sentence = say("Always saying “{label}” would do better: it is wrong {guess} times in 100.")
    return sentence.format(**names)


def _caution(findings: Findings, words: Words) -> list[str]:
    """What the numbers above do not promise."""
    cautions = []
    if findings.held_out is not None and not findings.measure.is_share:
        expected = ErrorWords(findings.measure, words).error(findings.held_out.error)
        cautions.append(words.translate("For new people, expect about {expected}.").format(expected=expected))
    elif findings.held_out is not None:
        expected = words.short_in_100(findings.held_out.error)
        sentence = words.translate("For new people, expect it to be wrong {expected} times in 100.")
        cautions.append(sentence.format(expected=expected))
    if findings.certificate.kind != "exact":
        cautions.append(words.translate("There may be a better model: no proof rules that out."))
    return cautions
