"""All that is known of a randomised table when it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # these bring SciPy, which nobody waits for who asks what measures there are
    from treewarden.ppdm_models.methods.randomised.manifest import Hidden
    from treewarden.ppdm_models.methods.randomised.residual_privacy import (
        JointIntervals,
        ResidualPrivacy,
    )


@dataclass(frozen=True, slots=True)
class RecoveredColumn:
    """What an attack makes of one column, in shares of the domain's width.

    ``error`` is the root mean square distance of its estimates to the true values, ``noise`` the same of the noisy
    values as they stand; ``width`` the 95 % interval that the attacker is left with: 3.92 times the error, and no more
    than the domain.
    """

    attack: str
    error: float
    noise: float
    width: float


@dataclass(frozen=True, slots=True)
class HiddenColumn:
    """One column: how it is hidden, what is left by itself, and what each attack makes of it beside the others.

    ``seen`` is how likely each true and each noisy value are together. ``missing`` records have no value there.
    """

    said: Hidden
    seen: JointIntervals
    left: ResidualPrivacy
    recovered: tuple[RecoveredColumn, ...]
    missing: int = 0


@dataclass(frozen=True, slots=True)
class RelatedColumns:
    """Two hidden columns whose true values go together, and how much: their correlation."""

    first: str
    second: str
    correlation: float


@dataclass(frozen=True, slots=True)
class Randomisation:
    """What a randomised table gives away, by what its owner knows: the true values and the noise.

    ``clear`` are columns that are published as they are, though nobody said that they are ``harmless``; what they give
    away cannot be told. ``label`` is the class of each record, in clear as well ("" where there is none): all that is
    said to be left is so once the class is known. Where ``has_too_many_classes``, that could not be reckoned with.
    """

    source: str
    records: int
    columns: tuple[HiddenColumn, ...]
    related: tuple[RelatedColumns, ...] = ()
    clear: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    label: str = ""
    has_too_many_classes: bool = False
