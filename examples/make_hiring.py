"""Make ``hiring.csv``: 400 made-up applicants, none of whom exists.

``python examples/make_hiring.py`` writes the file beside this script, always the same one. Every number in it comes out
of a random number generator and the rules below, which were written by hand; it says nothing about real applicants.
"""

from pathlib import Path

import numpy as np
import pandas as pd

N_APPLICANTS = 400
N_ALIKE = 8  # pairs of applicants who differ in one column only
LEAVES_SCHOOL = {"school": 18, "apprenticeship": 20, "bachelor": 22, "master": 24}  # age when training ends


def make() -> pd.DataFrame:
    rng = np.random.default_rng(20)
    n = N_APPLICANTS
    education = rng.choice(list(LEAVES_SCHOOL), n, p=[0.2, 0.35, 0.28, 0.17])
    started = np.array([LEAVES_SCHOOL[level] for level in education])
    age = started + np.minimum(rng.gamma(1.8, 8.0, n), 62 - started).astype(int)
    has_gap = (rng.random(n) < 0.3) & (age - started >= 3)
    gap = np.where(has_gap, np.minimum(3 + rng.geometric(0.1, n), 12 * (age - started) // 2), 0)
    people = pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "age": age,
            "years_of_experience": np.floor((age - started - gap / 12) * rng.uniform(0.75, 1.0, n)).astype(int),
            "education": education,
            "school_leaving_grade": np.clip(rng.normal(70 + (started - 20), 11, n), 50, 100).round().astype(int),
            "languages": 1 + rng.binomial(3, 0.1 + 0.08 * (started - 18) / 2),
            "gap_in_employment_months": gap,
            "volunteer_work": np.where(rng.random(n) < 0.25, "yes", "no"),
        }
    )
    _make_some_alike(people)
    people["hired_and_stayed"] = (rng.random(n) < _chance(people)).astype(int)
    return people


def alike(people: pd.DataFrame) -> list[tuple[int, int]]:
    """Positions of the first few applicants from 24 to 45 years, each beside one of the last few."""
    first = np.flatnonzero(people["age"].between(24, 45))[:N_ALIKE]
    return list(zip(first.tolist(), range(len(people) - N_ALIKE, len(people)), strict=True))


def _make_some_alike(people: pd.DataFrame) -> None:
    """Let the last few applicants repeat the first few, except for their age or their gap."""
    first, last = (list(side) for side in zip(*alike(people), strict=True))
    people.loc[last, people.columns[1:]] = people.loc[first, people.columns[1:]].to_numpy()
    people.loc[last[::2], "age"] += 14
    people.loc[last[1::2], "gap_in_employment_months"] += 12


def _chance(people: pd.DataFrame) -> pd.Series:
    """Of being hired and staying. Past decisions favoured the young and those without gaps: that is the point."""
    merit = (
        0.9 * np.minimum(people["years_of_experience"], 12) / 6
        + 0.6 * (people["school_leaving_grade"] - 72) / 11
        + 0.5 * (people["languages"] - 1.5)
        + people["education"].map({"school": -0.4, "apprenticeship": 0.2, "bachelor": 0.2, "master": 0.4})
    )
    held_against = 0.05 * np.maximum(people["age"] - 35, 0) + 0.06 * people["gap_in_employment_months"]
    return 1 / (1 + np.exp(-1.4 * (merit - held_against - 0.5)))


if __name__ == "__main__":
    make().to_csv(Path(__file__).with_name("hiring.csv"), index=False)
