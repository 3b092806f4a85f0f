"""The title and the two texts of a new study, as drafts, in every language that there is."""

from __future__ import annotations

from fairwise.study.languages import marked

TITLE_DRAFT = marked("Comparing people")
CONSENT_DRAFTS = {
    "en": """\
# Before you begin

[FILL IN: who is asking, of which institution, and what the study is for]

You will be shown pairs of people and asked a question about each pair.

## What is kept

- Your answers, and what you write if you choose to write something.
- When you answered, and how long it took.

Your name and your IP address are not kept.

[FILL IN: who will see the answers, what they will be used for, and how long they will be kept]

## You decide

Taking part is your own choice. You can stop at any time, and you can withdraw at any time: everything you answered is
then deleted. You need not say why, and nothing bad follows from it for you.
""",
    "de": """\
# Bevor Sie beginnen

[FILL IN: wer fragt, von welcher Einrichtung, und wozu die Studie dient]

Wir zeigen Ihnen Paare von Personen und stellen Ihnen zu jedem Paar eine Frage.

## Was gespeichert wird

- Ihre Antworten, und was Sie schreiben, falls Sie etwas schreiben möchten.
- Wann Sie geantwortet haben und wie lange es gedauert hat.

Ihr Name und Ihre IP-Adresse werden nicht gespeichert.

[FILL IN: wer die Antworten sieht, wozu sie verwendet werden und wie lange sie gespeichert bleiben]

## Sie entscheiden

Die Teilnahme ist freiwillig. Sie können jederzeit aufhören, und Sie können Ihre Teilnahme jederzeit widerrufen:
Dann wird alles gelöscht, was Sie geantwortet haben. Sie müssen keinen Grund nennen, und es entstehen Ihnen daraus keine
Nachteile.
""",
}

# The page itself goes on to explain the buttons, and how to stop and go on.
TASK_DRAFTS = {
    "en": """\
You will see two people at a time, side by side, and a few facts about each of them. You will be asked one question
about the two, and choose one of the answers. Take as much time as you like.

[FILL IN: who these people are, and what is decided about them]
""",
    "de": """\
Sie sehen immer zwei Personen nebeneinander, mit einigen Angaben zu jeder von ihnen. Wir stellen Ihnen eine Frage zu den
beiden, und Sie wählen eine der Antworten. Nehmen Sie sich so viel Zeit, wie Sie möchten.

[FILL IN: wer diese Personen sind, und was über sie entschieden wird]
""",
}
