"""What a model says of itself, its rules, its proof and what it breaks, in the language of a report."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from fairwise.reporting.measures import TreatmentWords
from fairwise.reporting.sentences import group_rule

if TYPE_CHECKING:
    from fairwise.auditing.findings import Findings
    from fairwise.learning.model.deterministic import Derandomization
    from fairwise.reporting.words import Words


def findings_in(findings: Findings, words: Words) -> Findings:
    """The same findings with outcomes that have no words of their own, and the model's rules, in this language."""
    labels, guess = tuple(_outcomes(findings, words)), findings.guess_label
    told = dict(zip(findings.labels.words, labels, strict=True))  # two may have the same words
    return replace(
        findings,
        labels=replace(findings.labels, words=labels),
        guess_label=None if guess is None else told.get(guess, guess),
        rules=findings.rules.in_language(words.translate, words.language.decimal, labels),
    )


def model_words(
    findings: Findings, words: Words, most: int, without_chance: Derandomization | None = None
) -> dict[str, Any]:
    """Everything that the page of a model says in words: at most so many rules, and what a single rule breaks."""
    rules, certificate = findings_in(findings, words).rules, findings.certificate
    texts = rules.heaviest(most)
    return {
        "lead": rules.lead,
        "rules": [asdict(text) for text in texts],
        "left_out": len(rules.texts()) - len(texts),
        "notes": rules.notes(),
        "kind": words.sentence(certificate.hypothesis_class),
        "warnings": [words.sentence(warning) for warning in certificate.warnings],
        "rule": None if certificate.rule is None else words.sentence(certificate.rule),
        "group_rules": {}
        if without_chance is None
        else {name: group_rule(name, words.language) for name in without_chance.group_rules_broken},
        "budgets": {}
        if without_chance is None
        else {name: words.sentence(name) for name in without_chance.budgets_broken},
    }


def _outcomes(findings: Findings, words: Words) -> list[str]:
    if findings.amounts is None:
        return [_outcome(label, words) for label in findings.labels.words]
    told = TreatmentWords(findings, words)
    return [told.quantity(amount) for amount in findings.amounts.grid]


def _outcome(label: str, words: Words) -> str:
    """An outcome that has no words of its own is called "label 1"; words that somebody gave stay as they are."""
    return words.sentence(label) if label.startswith("label ") else label
