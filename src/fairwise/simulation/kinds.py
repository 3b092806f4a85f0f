"""Named kinds of simulated people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairwise.simulation.roles import Roles


@dataclass(frozen=True)
class Kind:
    """What the people of one kind have in common.

    Parameters
    ----------
    portion : float
        Their part of a panel.
    matters : function of the roles
        The columns they care about. Where there is none, the table has no room for this kind.
    attention : int, optional
        To how many of these columns one person pays attention; otherwise to all.
    same_share : (low, high), optional
        What part of random pairs they call the same; otherwise the panel decides.
    first_difference : bool
        Whether the first noticeable difference decides alone, instead of all of them together.
    discounts : bool
        Whether they discount the records of minorities.
    noise, fatigue, position_bias : float
        Their weaknesses, as in `Respondent`.
    """

    portion: float
    matters: Callable[[Roles], tuple[str, ...]]
    attention: int | None = None
    same_share: tuple[float, float] | None = None
    first_difference: bool = False
    discounts: bool = False
    noise: float = 0.0
    fatigue: float = 0.0
    position_bias: float = 0.0


def _record(roles: Roles) -> tuple[str, ...]:
    return roles.record or ()


def _demographics(roles: Roles) -> tuple[str, ...]:
    return roles.demographics or ()


def _everything(roles: Roles) -> tuple[str, ...]:
    return _demographics(roles) + _record(roles)


def _age(roles: Roles) -> tuple[str, ...]:
    return tuple(name for name in _everything(roles) if name == "age")


KINDS: Mapping[str, Kind] = {
    "ignores-demographics": Kind(0.25, _record, attention=3, noise=0.02),
    "ignores-record": Kind(0.12, _demographics, attention=2, noise=0.02),
    "discounts-minorities": Kind(0.12, _record, attention=2, discounts=True, noise=0.02),
    "weighs-everything": Kind(0.19, _everything, noise=0.02),
    "age-focused": Kind(0.05, _age, noise=0.02),
    "first-difference": Kind(0.09, _everything, attention=4, first_difference=True, same_share=(0.2, 0.5)),
    "noisy": Kind(0.07, _everything, attention=4, noise=0.2, fatigue=0.002, position_bias=0.5),
    "strict": Kind(0.02, _everything, same_share=(0.02, 0.12)),
    "all-same": Kind(0.07, _everything, same_share=(1.0, 1.0)),
    "anything-goes": Kind(0.02, _everything, same_share=(0.0, 0.0), noise=0.08),
}
