"""What a file holds beside its trees, and what that means for its claim of differential privacy.

A file keeps its promise only if all of it does. What else was computed from the records (a mean, a count, an error) was
published without noise, and voids the claim. What may have been, or may as well be public (a range, a list of values),
leaves it open. What says nothing of the records (who wrote the file, when and where) is harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind


class ClaimEffect(StrEnum):
    """Whether a side channel voids a claim, leaves it open, or does neither."""

    VOIDS = "voids"
    DOUBTS = "doubts"
    HARMLESS = "harmless"


EFFECTS = {
    LeakKind.RAW_RECORDS: ClaimEffect.VOIDS,
    LeakKind.EXACT_TARGETS: ClaimEffect.VOIDS,
    LeakKind.RARE_VALUES: ClaimEffect.VOIDS,
    LeakKind.OLD_MODEL: ClaimEffect.DOUBTS,  # it spent an epsilon of its own, if it had any
    LeakKind.PERSON: ClaimEffect.DOUBTS,  # perhaps of the table
    LeakKind.UNKNOWN: ClaimEffect.DOUBTS,
    LeakKind.EXTREMES: ClaimEffect.DOUBTS,  # a range of values may be public
    LeakKind.MEDIANS: ClaimEffect.VOIDS,
    LeakKind.AVERAGES: ClaimEffect.VOIDS,
    LeakKind.HISTOGRAM: ClaimEffect.VOIDS,
    LeakKind.CATEGORIES: ClaimEffect.DOUBTS,  # a list of values may be public
    LeakKind.TARGET_STATISTICS: ClaimEffect.VOIDS,
    LeakKind.SMALL_COUNTS: ClaimEffect.VOIDS,
    LeakKind.PER_RECORD: ClaimEffect.VOIDS,
    LeakKind.REPLAY: ClaimEffect.VOIDS,  # the draws can be repeated
    LeakKind.DIFFERENCING: ClaimEffect.VOIDS,
    LeakKind.AUTHOR: ClaimEffect.HARMLESS,
    LeakKind.PATH: ClaimEffect.HARMLESS,
    LeakKind.TIMESTAMP: ClaimEffect.HARMLESS,
    LeakKind.IDENTIFIER: ClaimEffect.HARMLESS,
}
"""Of every kind, in the order in which they are listed; of what is only possible see ``effect_of``."""
NOT_PROTECTED = (
    "the file contains {what}, which was computed from the records without noise; {advice}"
)
NOT_JUDGED = (
    "the file contains {what}, and nothing says that this was known without the records; {advice}"
)
REDACT = "remove it (treewarden redact), or train without it"
TREES_ALONE = "write only the trees (treewarden convert MODEL NEW.pmml), or train without it"


def effect_of(leak: Leak) -> ClaimEffect:
    """Return what a side channel means for a claim; what may be there or not is a doubt where it would void."""
    effect = EFFECTS[leak.kind]
    return ClaimEffect.DOUBTS if leak.is_possible and effect is ClaimEffect.VOIDS else effect


def voids_beside_trees(leaks: Iterable[Leak]) -> Iterator[str]:
    """Yield why side channels void a claim; a seed is told of elsewhere."""
    for leak in leaks:
        if leak.kind is not LeakKind.REPLAY and effect_of(leak) is ClaimEffect.VOIDS:
            yield _reason(NOT_PROTECTED, leak)


def doubts_beside_trees(leaks: Iterable[Leak]) -> Iterator[str]:
    """Yield why side channels leave a claim open."""
    for leak in leaks:
        if effect_of(leak) is ClaimEffect.DOUBTS:
            yield _reason(NOT_JUDGED, leak)


def _reason(sentence: str, leak: Leak) -> str:
    place = f" ({leak.where})" if leak.where else ""
    advice = REDACT if leak.removable else TREES_ALONE
    return sentence.format(what=f"{leak.what}{place}", advice=advice)
