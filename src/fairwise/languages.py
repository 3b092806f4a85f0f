"""Languages that people may read: words of a package's catalogues, and how dates and numbers are written.

English is what the code says. Every other language is a catalogue under ``locale/`` of a package, read as it is:
nothing is compiled beforehand, so nothing can be out of date.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO

from babel import Locale
from babel.dates import format_date, format_time
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent, get_decimal_symbol, get_group_symbol

from fairwise.numbers import in_100, points, quantity, rounded

SOURCE = "en"
# Days before months, and hours from 0 to 23, are read rightly by more people.
_CONVENTIONS = {"en": "en_GB"}


@dataclass(frozen=True)
class Language:
    """A language with its catalogue."""

    code: str
    catalogue: NullTranslations

    @cached_property
    def locale(self) -> Locale:
        """Its conventions."""
        return Locale.parse(_CONVENTIONS.get(self.code, self.code))

    @cached_property
    def name(self) -> str:
        """As those call it who speak it."""
        name = Locale.parse(self.code).get_display_name() or self.code
        return name[:1].upper() + name[1:]

    @cached_property
    def direction(self) -> str:
        """``ltr`` or ``rtl``."""
        return self.locale.text_direction

    def translate(self, text: str) -> str:
        """Return a text of ours in this language."""
        return self.catalogue.gettext(text) if text else ""  # a catalogue would tell about itself

    def ngettext(self, one: str, many: str, number: float) -> str:
        """Return the text for so many; 0.3 and 1.5 are many."""
        whole = int(number) if number == int(number) else 2
        return self.catalogue.ngettext(one, many, whole)

    def decimal(self, digits: str) -> str:
        """Return a number that is written with a point as it is written here."""
        return digits.replace(".", get_decimal_symbol(self.locale))

    def number_marks(self, digits: str) -> str:
        """Return a number formatted in English, which may have commas and a percent sign, with the marks used here."""
        marks = {".": get_decimal_symbol(self.locale), ",": get_group_symbol(self.locale), "%": "\N{NO-BREAK SPACE}%"}
        return "".join(marks.get(mark, mark) for mark in digits)

    def number(self, number: float, places: int = 1) -> str:
        """Return a number of ours as it is written here, with at most so many decimal places."""
        return format_decimal(number, f"#,##0.{'#' * places}", self.locale)

    def fixed(self, number: float, places: int) -> str:
        """Return a number with exactly so many decimal places."""
        return self.decimal(f"{rounded(number, places):f}".replace("-", "\N{MINUS SIGN}"))

    def quantity(self, number: float) -> str:
        """Return a cost or an amount, with four digits that count; from 1,000 on without decimals."""
        if abs(number) >= 999.95:
            return self.grouped(round(number)).replace("-", "\N{MINUS SIGN}")
        return self.decimal(f"{quantity(number):f}".replace("-", "\N{MINUS SIGN}"))

    def in_100(self, share: float) -> str:
        """Return how many of 100 a share is."""
        return self.decimal(f"{in_100(share):f}")

    def short_in_100(self, share: float) -> str:
        """Return how many of 100 a share is, or percentage points, without needless decimals."""
        return self.decimal(f"{points(share):f}".replace("-", "\N{MINUS SIGN}"))

    def percent(self, share: float) -> str:
        """Return a share as whole percent."""
        return format_percent(share, locale=self.locale)

    def grouped(self, number: int) -> str:
        """Return a whole number with its thousands apart, as they are here."""
        return f"{number:,}".replace(",", get_group_symbol(self.locale))

    def moment(self, moment: datetime) -> str:
        """Return day and time as one would say them."""
        moment = moment.astimezone(UTC)
        day, time = format_date(moment, "long", self.locale), format_time(moment, "short", locale=self.locale)
        return self.translate("{day}, {time} UTC").format(day=day, time=time)


@cache
def languages_of(package: str) -> tuple[str, ...]:
    """Codes of all languages that a package speaks."""
    return (SOURCE, *sorted(place.name for place in files(package).joinpath("locale").iterdir() if place.is_dir()))


@cache
def language_of(package: str, code: str) -> Language:
    """Return one of a package's languages."""
    if code == SOURCE:
        return Language(code, NullTranslations())
    source = files(package).joinpath("locale", code, "LC_MESSAGES", "messages.po")
    compiled = BytesIO()
    with source.open("rb") as file:
        write_mo(compiled, read_po(file, code))
    compiled.seek(0)
    return Language(code, GNUTranslations(compiled))
