"""A study that is ready to be shown: bundled people, written texts, labels and values in words."""

import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

import pandas as pd

from fairwise.datasets import load_compas
from fairwise.study.folder import CONSENT, TASK, StudyFolder
from fairwise.study.new_study import StudyDraft, drafted_study, new_study
from fairwise.study.toml import Plain
from fairwise.tables.files import PeopleFile

OUTCOME = "two_year_recid"
FAVORABLE, UNFAVORABLE = "no new arrest", "rearrested"
"""The two outcomes, within two years; in the alphabet as 0 and 1 are, so that rates stay about arrests."""

COLUMNS = {
    "age": ("Age", "years"),
    "sex": ("Sex", ""),
    "race": ("Ethnic group", ""),
    "c_charge_degree": ("Current charge", ""),
    "priors_count": ("Earlier adult offences", ""),
    "juv_fel_count": ("Felonies as a minor", ""),
    "juv_misd_count": ("Misdemeanours as a minor", ""),
    "juv_other_count": ("Other offences as a minor", ""),
}
_CHARGES = {"F": "felony", "M": "misdemeanour"}
_SEXES = {"Female": "female", "Male": "male"}

_CONSENT = """\
# Before you begin

This is a **sample study**. It shows how people can be asked what they consider fair, and what a model learns from their
answers. Simulated people have answered it; whatever you answer stays in this copy of the study.

You will see pairs of people who were arrested in Broward County, Florida, in 2013 and 2014, and say how a court should
treat the two, compared with each other, when it decides who waits for the trial at home. The facts are from public
records. You will not be shown their names, nor what became of them.

## What is kept

- Your answers, and what you write if you choose to write something.
- When you answered, and how long it took.

Your name and your IP address are not kept. The answers are seen by whoever runs this copy, and are used to show how a
model changes when it has to follow them.

## You decide

Taking part is your own choice. You can stop at any time, and you can withdraw at any time: everything you answered is
then deleted. You need not say why, and nothing bad follows from it for you.
"""
_TASK = """\
Someone has been arrested. Until the trial a court may **release** them, or keep them in **jail**. Some courts ask a
model how likely someone is to be arrested again, and such a model treats some people better than others.

You will see two people at a time, side by side: age, sex, ethnic group, what they are charged with, and what they
were charged with before. A *felony* is a serious offence, a *misdemeanour* a lesser one.

Say how the two should be treated, compared with each other. There are no right or wrong answers: we would like to
know what **you** consider fair. Take as much time as you like.
"""


_TEXTS = {CONSENT: _CONSENT, TASK: _TASK}


def sample_people() -> tuple[pd.DataFrame, pd.Series]:
    """The bundled COMPAS people and whether each was arrested again within two years, with values in words."""
    people, outcome = load_compas()
    worded = people.assign(c_charge_degree=people["c_charge_degree"].map(_CHARGES), sex=people["sex"].map(_SEXES))
    return worded[list(COLUMNS)], outcome.map({0: FAVORABLE, 1: UNFAVORABLE})


def make_sample(home: Path, *, seed: int = 0) -> StudyFolder:
    """Make the sample study in a new folder: 50 pairs for everyone, some shared, some shown again."""
    return new_study(home, _people_file(), list(COLUMNS), _choices(seed), outcome=OUTCOME, texts=_TEXTS)


def drafted_sample(home: Path, *, seed: int = 0) -> AbstractContextManager[StudyDraft]:
    """Make the same for a folder that is there already; it appears there when asked to."""
    return drafted_study(home, _people_file(), list(COLUMNS), _choices(seed), outcome=OUTCOME, texts=_TEXTS)


def _people_file() -> PeopleFile:
    people, outcome = sample_people()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.csv"
        people.assign(**{OUTCOME: outcome}).to_csv(file, index_label="id")
        return PeopleFile.read(file, "id")


def _choices(seed: int) -> Plain:
    return {
        "title": "Fair decisions before trial",
        "question": "Until their trials, how should these two people be treated, compared with each other?",
        "treated_well": "being released until the trial",
        "pairs": 50,
        "seed": seed,
        "simulated": True,
        "design": {"anchors": 8, "repeats": 4, "checks": 2},
        "columns": [{"name": name, "label": label, "unit": unit} for name, (label, unit) in COLUMNS.items()],
    }
