"""How easily a text reads: Flesch's formula for English and Amstad's for German, with syllables counted by rule."""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"[.!?:](?:\s|$)")
_WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*|\d[\d.,]*")
_VOWELS = {"en": re.compile(r"[aeiouy]+"), "de": re.compile(r"eu|äu|ei|ai|au|ie|[aeiouyäöü]")}


def syllables(word: str, language: str) -> int:
    """Groups of vowels, at least one; a number is read as one or two words and counts as two."""
    if word[0].isdigit():
        return 2
    lower = word.lower()
    groups = len(_VOWELS[language].findall(lower))
    if language == "en":
        silent_e = lower.endswith("e") and not lower.endswith("le")
        silent_ed = lower.endswith("ed") and not lower.endswith(("ted", "ded"))
        groups -= int(silent_e or silent_ed)
    return max(1, groups)


def reading_ease(text: str, language: str) -> float:
    """From 0 (hard) to 100 (easy), with words per sentence w and syllables per word s.

    Flesch: 206.835 - 1.015 w - 84.6 s; Amstad: 180 - w - 58.5 s.
    """
    words = _WORD.findall(text)
    sentences = max(1, len(_SENTENCE.findall(text)))
    per_sentence = len(words) / sentences
    per_word = sum(syllables(word, language) for word in words) / len(words)
    if language == "de":
        return 180 - per_sentence - 58.5 * per_word
    return 206.835 - 1.015 * per_sentence - 84.6 * per_word
