"""Borrowers of a German bank in the 1970s."""

from typing import TYPE_CHECKING

from fairwise.datasets.dataset_card import Column, DatasetCard, read_people_and_outcome

if TYPE_CHECKING:
    import pandas as pd

CARD = DatasetCard(
    name="german_credit",
    title="German credit: loans paid back or not",
    provenance=(
        "Loans of a bank in southern Germany from 1973 to 1975, given by Hans Hofmann, University of "
        "Hamburg, to the UCI Machine Learning Repository in 1994 as Statlog (German Credit Data), file "
        "german.data, doi 10.24432/C5NC77. Changed here: columns are named, codes are replaced by words, "
        "people are numbered in file order, and the outcome is 1 for good and 0 for bad instead of 1 and 2."
    ),
    licence="Creative Commons Attribution 4.0 International (CC BY 4.0)",
    rows=1000,
    columns=(
        Column("checking_account", "balance of the checking account in DM, or no account"),
        Column("duration_months", "length of the loan"),
        Column("credit_history", "how earlier and other loans went"),
        Column("purpose", "what the loan was for"),
        Column("amount_dm", "size of the loan in DM"),
        Column("savings", "savings and bonds in DM"),
        Column("employment", "years in the present job, or unemployed"),
        Column("installment_rate", "instalments as a share of disposable income, as a class from 1 to 4"),
        Column("personal_status_sex", "sex and marital status in one, as in the source"),
        Column("other_debtors", "whether somebody else also answers for the loan"),
        Column("residence", "time at the present address, as a class from 1 to 4"),
        Column("property", "the most valuable thing owned"),
        Column("age", "years"),
        Column("other_installment_plans", "instalment plans elsewhere"),
        Column("housing", "rents, owns or lives for free"),
        Column("existing_credits", "number of loans at this bank, as a class from 1 to 4"),
        Column("job", "level of employment"),
        Column("dependents", "number of people to provide for, as a class, 1 or 2"),
        Column("telephone", "whether a telephone is registered in the person's name"),
        Column("foreign_worker", "whether the person is a foreign worker"),
    ),
    outcome=Column("good_credit", "the loan was paid back as agreed"),
    favorable_label=1,
    favorable_meaning="the loan was paid back as agreed",
    caveats=(
        (
            "The words follow the code book that came with the data, and that book has mistakes. According "
            "to Grömping (2019), who went back to the first publications, the categories of "
            "checking_account, credit_history, purpose, savings, property and housing are shifted against "
            "their codes and those of foreign_worker are swapped (963 of 1,000 are marked as foreign). Good "
            "for trying out methods; not for conclusions about borrowers."
        ),
        (
            "personal_status_sex is not split: by the corrected book one of its codes covers single men and "
            "women who are not single, so that the sex of those people is unknown."
        ),
        (
            "installment_rate, residence, existing_credits and dependents are numbered classes, not amounts; "
            "installment_rate runs downwards, from 1 for 35 % or more to 4 for less than 20 %."
        ),
        "Bad loans were sampled far more often than they occur, so the 30 % here is no default rate.",
        "Only people who were given a loan are included.",
        (
            "The source holds a bad loan called good to be five times as costly as the reverse; an error "
            "rate ignores that."
        ),
    ),
    file="german_credit.csv.bz2",
    sha256="5abcb6d401581998e330105571224595e2d8e74c580af7d96786eb9782581dd9",
    raw_file="german.data",
    raw_sha256="b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
)


def load_german_credit() -> "tuple[pd.DataFrame, pd.Series]":
    """Load 1,000 borrowers of a German bank, and whether each paid back the loan.

    Label 1, paid back, is the favourable one. The words for the categories come from a code book with known
    mistakes: see the caveats in ``card("german_credit")``.

    Returns
    -------
    people : DataFrame
        1000 rows, 20 columns, integers and words, index ``id`` = 1 … 1000 in file order.
    outcome : Series
        0 or 1, name ``good_credit``, same index.

    Raises
    ------
    FairwiseError
        If the bundled file is missing or has been changed.

    Examples
    --------
    >>> people, outcome = load_german_credit()
    >>> people.shape, int(outcome.sum())
    ((1000, 20), 700)
    """
    return read_people_and_outcome(CARD)
