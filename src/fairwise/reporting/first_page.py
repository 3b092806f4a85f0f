"""The first page of a report: its message in one short paragraph, for someone who reads nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.numbers import share_difference
from fairwise.reporting.words import ErrorWords

if TYPE_CHECKING:
    from fairwise.auditing.findings import Findings
    from fairwise.reporting.words import Words
    from fairwise.results.fits import Headline


def message(findings: Findings, words: Words) -> str:
    """Tell what is followed and what that costs, who asked, how good the model is, and how sure that is."""
    sentences = [
        _cost(findings, words),
        affected(findings.headline, words),
        _constant(findings, words),
        *_caution(findings, words),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _cost(findings: Findings, words: Words) -> str:
    say, headline = words.translate, findings.headline
    n, asked, followed = headline.participants, headline.asked, headline.followed
    people = words.people(n, headline.simulated)
    if not asked:
        nobody = words.ngettext(
            "{people} was asked, and asked for nothing.", "{people} were asked, and nobody asked for anything.", n
        )
        opening, free = nobody.format(people=people), say("So the model is free.")
        return f"{opening} {free} {_error_alone(findings, words)}"
    what = words.ngettext("what {people} asked for", "what {people} asked for", n).format(people=people)
    names = {"what": what, "share": f"{words.short_in_100(followed / asked)}\N{NO-BREAK SPACE}%"}
    missed = followed < asked
    opening = (say("The model follows {share} of {what}.") if missed else say("The model follows {what}.")).format(
        **names
    )
    if headline.compared[1] is None:
        return f"{opening} {_error_alone(findings, words)}"
    if not findings.measure.is_share:
        return f"{opening} {_mean_cost(findings, words)}"
    return _wrong_decisions(findings, words, names, opening if missed else None)


def _error_alone(findings: Findings, words: Words) -> str:
    error = findings.headline.compared[0]
    if findings.measure.is_share:
        wrong = words.short_in_100(error)
        return words.translate("It is wrong {wrong} times in 100.").format(wrong=wrong)
    errors = ErrorWords(findings.measure, words)
    return f"{errors.name}: {errors.error(error)}."


def _mean_cost(findings: Findings, words: Words) -> str:
    """Tell the mean cost of decisions with and without what people asked for."""
    errors, (error, plain, _) = ErrorWords(findings.measure, words), findings.headline.compared
    assert plain is not None
    names = {"measure": errors.name, "error": errors.error(error), "without": errors.error(plain)}
    if errors.shows(error, plain):
        text = words.translate("{measure}: {error}, instead of {without} without that.").format(**names)
    else:
        text = words.translate("{measure}: {error}, with that or without.").format(**names)
    return f"{text}{_of_mean(findings, words)}"


def _of_mean(findings: Findings, words: Words) -> str:
    """Tell the error of the mean amount, which misses by less than a rule drawn by lot."""
    errors, proved = ErrorWords(findings.measure, words), findings.certificate
    measured = findings.held_out is not None  # then on other people than what is proved
    if findings.amounts is None or measured or not errors.shows(proved.error, proved.mean_error):
        return ""
    text = words.translate("That is of rules drawn by lot; the mean that people are given misses by less: {error}.")
    return f" {text.format(error=errors.error(proved.mean_error))}"


def _wrong_decisions(findings: Findings, words: Words, names: dict[str, str], opening: str | None) -> str:
    """Tell how many more decisions are wrong; ``opening`` says how much is followed, where that is not all."""
    say, (error, plain, _) = words.translate, findings.headline.compared
    assert plain is not None
    cost = share_difference(error, plain)
    names |= {
        "wrong": words.short_in_100(error),
        "without": words.short_in_100(plain),
        "cost": words.number(cost.normalize() + 0),
    }
    if opening is not None:
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
        return f"{opening} {costs.format(**names)}"
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


def affected(headline: Headline, words: Words) -> str:
    """Whether those who were asked are touched by such decisions themselves."""
    say, count, unknown = words.translate, headline.affected, headline.affected_not_known
    real = headline.participants - headline.simulated
    everyone = words.counted(real)
    if headline.simulated:
        everyone = words.ngettext("{count} real person", "{count} real people", real).format(count=everyone)
    if not real:
        text = say("No real person was asked.")
    elif unknown == real:
        text = say("Whether such decisions affect them is not known.")
    elif unknown:
        text = say("Such decisions affect {count} of the {all}, and not {others}; of {unknown} that is not known.")
    elif headline.simulated:
        text = say("Such decisions affect {count} of the {all}.")
    elif real == 1:
        text = say("This person is affected too.") if count else say("This person is not affected.")
    elif not count:
        text = say("None of the {all} is affected.")
    elif count == real:
        text = say("All {all} are affected themselves.")
    else:
        text = words.ngettext(
            "{count} of the {all} is affected too.", "{count} of the {all} are affected themselves.", count
        )
    counts = {"count": count, "others": real - count - unknown, "unknown": unknown}
    return text.format(all=everyone, **{name: words.counted(number) for name, number in counts.items()})


def _constant(findings: Findings, words: Words) -> str:
    """Against the simplest rule there is: to say the same of everyone."""
    say, (error, _, guess), held = words.translate, findings.headline.compared, findings.held_out
    if guess is None:
        return ""
    is_beaten = held is None or "constant" not in held.not_beaten
    if not findings.measure.is_share:
        errors = ErrorWords(findings.measure, words).error(guess)
        sentence = say("Always saying “{label}” would make it {guess}.")
        if not is_beaten:
            sentence = say("The model is not clearly better than always saying “{label}”: {guess}.")
        return sentence.format(label=findings.guess_label, guess=errors)
    better = share_difference(guess, error)
    names = {
        "label": findings.guess_label,
        "better": words.number(better.normalize() + 0),
        "guess": words.short_in_100(guess),
    }
    if better > 0 and not is_beaten:
        sentence = say(
            "The model is not clearly better than always saying “{label}”: that is wrong {guess} times in 100."
        )
    elif better > 0:
        sentence = say("The model beats always saying “{label}” by {better} in 100.")
    elif better == 0:
        sentence = say("It does not beat always saying “{label}”: that too is wrong {guess} times in 100.")
    else:
        sentence = say("Always saying “{label}” would do better: it is wrong {guess} times in 100.")
    return sentence.format(**names)


def _caution(findings: Findings, words: Words) -> list[str]:
    """Tell what the numbers above do not promise."""
    say, held, cautions = words.translate, findings.held_out, []
    if held is None:
        cautions.append(say("All this is about the people the model was made from. With new people it may do worse."))
    else:
        errors = ErrorWords(findings.measure, words)
        if "plain" in held.not_beaten and errors.shows(held.error, held.plain.error) <= 0:
            cautions.append(say("It is not clearly more accurate than without what they asked for."))
        cautions.append(say("All errors here were measured on people left out when such models were made."))
    if findings.certificate.kind != "exact":
        cautions.append(say("There may be a better model: no proof rules that out."))
    return cautions
