"""People scored by the COMPAS tool in Broward County, Florida."""

from typing import TYPE_CHECKING

from fairwise.datasets.dataset_card import Column, DatasetCard, read_people_and_outcome

if TYPE_CHECKING:
    import pandas as pd

CARD = DatasetCard(
    name="compas",
    title="COMPAS: re-arrest within two years, Broward County",
    provenance=(
        "Public records of people scored by the COMPAS risk tool in Broward County, Florida, in 2013 and "
        "2014, gathered by ProPublica (Larson, Mattu, Kirchner and Angwin, 2016) and published as "
        "compas-scores-two-years.csv. Of its 7,214 people the 6,172 of ProPublica's own analysis are kept: "
        "screened within 30 days of the arrest, a known recidivism flag, a charge that is not an ordinary "
        "traffic offence, a valid score. Without the 343 whose race is recorded as Other, 5,829 remain. "
        "Values, ids and order are those of the source; all other columns were left out, names and birth "
        "dates first of all."
    ),
    licence=(
        "ProPublica published the file without a licence of its own; cite ProPublica and see its data terms. "
        "The records are public. Fairwise's licence does not cover them."
    ),
    rows=5829,
    columns=(
        Column("sex", "Female or Male, as recorded by the authorities"),
        Column("age", "years, in April 2016"),
        Column(
            "race",
            "African-American, Asian, Caucasian, Hispanic or Native American, as recorded by the authorities",
        ),
        Column("juv_fel_count", "number of felonies as a juvenile"),
        Column("juv_misd_count", "number of misdemeanours as a juvenile"),
        Column("juv_other_count", "number of other offences as a juvenile"),
        Column("priors_count", "number of earlier offences"),
        Column("c_charge_degree", "current charge: F, a felony, or M, a misdemeanour"),
    ),
    outcome=Column("two_year_recid", "arrested again within two years"),
    favorable_label=0,
    favorable_meaning="not arrested again within two years",
    caveats=(
        "An arrest is not an offence: the outcome also measures where and whom the police arrest.",
        (
            "People who were arrested again were kept even if they had been followed for less than two "
            "years, the others were not, so the base rate of 0.46 is too high: over the whole source file "
            "it is 45.1 % and would be 36.2 % with one rule for all (Barenstein, 2019)."
        ),
        "The age is that of April 2016, when the records were gathered, not that of the day of screening.",
        "Few people in some groups: 31 Asian, 11 Native American.",
        (
            "The people are real and the source with their names is public; 1,916 of them share their eight "
            "values with nobody else. Do not try to find out who they are."
        ),
        (
            "The task only resembles what courts decide. Results here say little about the use of risk "
            "scores in practice (Bao et al., 2021)."
        ),
    ),
    file="compas.csv.bz2",
    sha256="ebfc2f13122a132b91bcb4b811bc70f5e4adfd1fbbe63915059c6aac9ce55c00",
    raw_file="compas-scores-two-years.csv",
    raw_sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
)


def load_compas() -> "tuple[pd.DataFrame, pd.Series]":
    """Load 5,829 people scored by COMPAS, and whether each was arrested again within two years.

    Label 1, arrested again, is the bad one: the favourable label is 0. Provenance and caveats are in
    ``card("compas")``.

    Returns
    -------
    people : DataFrame
        5829 rows, 8 columns: sex, age, race, juv_fel_count, juv_misd_count, juv_other_count, priors_count,
        c_charge_degree, with values as in the source; index ``id``, ProPublica's own, in file order.
    outcome : Series
        0 or 1, name ``two_year_recid``, same index.

    Raises
    ------
    FairwiseError
        If the bundled file is missing or has been changed.

    Examples
    --------
    >>> people, outcome = load_compas()
    >>> people.shape, round(float(outcome.mean()), 4)
    ((5829, 8), 0.4606)
    """
    return read_people_and_outcome(CARD)
