"""How many participants it takes to see what talking does: two rounds and arms, played with simulated people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.auditing.changes import Changes
from fairwise.auditing.effects import effects
from fairwise.auditing.plan import simulate_answers
from fairwise.errors import InputError
from fairwise.simulation import simulate_second_round

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairwise.study.folder import StudyFolder  # studies are an extra; whoever plans one has it

    Progress = Callable[[str, int, int], None]

TALKING = "Second rounds"
_ROUNDS = 10  # second rounds of each first one: drawing people takes longer than asking them again
_DRAWS = 199
_ALARM = 0.05
_NAME = "towards_reasons"


def silent_arm(study: StudyFolder) -> str | None:
    """The one arm whose second round shows no reasons; None where there is no such arm, or no second round."""
    silent = [arm.name for arm in study.settings.arms if not arm.reasons]
    return silent[0] if len(silent) == 1 and study.settings.deliberation.on else None


def simulate_arms(
    study: StudyFolder,
    people: pd.DataFrame,
    judges: Sequence[int],
    *,
    persuasion: float = 0.2,
    returning: float = 0.8,
    n_studies: int = 20,
    seed: int = 0,
    progress: Progress = lambda _stage, _done, _all: None,
) -> pd.DataFrame:
    """How often an effect of this size would be seen, by the number of participants.

    Parameters
    ----------
    study : StudyFolder
        With a second round, and one arm that is shown no reasons (:func:`silent_arm`).
    people : DataFrame
        Everyone in the study, by id.
    judges : several ints
        How many take part in round 1.
    persuasion : float
        The chance that an answer against the shown reason becomes the one the reason is for.
    returning : float
        The chance that a participant comes back.
    n_studies : int
        How many first rounds of each size are played, each with ten second ones.
    seed : int
        The same seed gives the same simulated people.
    progress : callable
        Told the stage, how many are done and how many there are.

    Returns
    -------
    DataFrame
        By size and arm that is shown reasons: judges, arm, returned (mean), effect (the mean true one on the share of
        answers changed towards the reasons), found (the share of studies with a p-value of at most 0.05), half_width
        (mean, of the interval; NaN where no study has one).
    """
    control = silent_arm(study)
    if control is None:
        raise InputError(f"{study.path}: needed: a second round, and one arm that is shown no reasons")
    sizes = [checks.whole("judges", size, 2) for size in judges]
    from fairwise.study.schedules import block_size

    size_of_block = block_size(study.settings.arms)
    turns = study.arms_at_end or study.arms_at_start
    assert turns is not None
    lines, done = [], 0
    for size in sizes:
        for repetition in range(n_studies):
            state = int(np.random.SeedSequence([seed, repetition]).generate_state(1)[0])
            first = simulate_answers(study, people, size, seed=state)
            numbers = np.arange(first.n_judges)
            arms = pd.DataFrame(
                {"arm": [turns[number] for number in numbers.tolist()], "block": numbers // size_of_block},
                index=first.judges,
            )
            for again in range(_ROUNDS):
                second = simulate_second_round(
                    first,
                    arms,
                    control=control,
                    n_pairs=study.settings.deliberation.pairs,
                    persuasion=persuasion,
                    returning=returning,
                    seed=state + again,
                )
                shown, alone = (
                    Changes.of(one, second.reasons).by_judge() for one in (second.all_shown, second.none_shown)
                )
                found = effects(second.judgments, control=control, reasons=second.reasons, n_draws=_DRAWS).tests
                lines.append(
                    found[found["name"] == _NAME].assign(
                        judges=size, returned=len(shown), truth=float((shown - alone)[_NAME].mean())
                    )
                )
            done += 1
            progress(TALKING, done, len(sizes) * n_studies)
    return _summary(pd.concat(lines, ignore_index=True))


def _summary(tests: pd.DataFrame) -> pd.DataFrame:
    """Means over the simulated studies, by size and arm."""
    told = tests.assign(found=tests["p_value"] <= _ALARM, half_width=(tests["high"] - tests["low"]) / 2)
    columns = {"returned": "returned", "truth": "effect", "found": "found", "half_width": "half_width"}
    means = told.groupby(["judges", "arm"], sort=False)[list(columns)].mean().rename(columns=columns)
    return means.reset_index()
