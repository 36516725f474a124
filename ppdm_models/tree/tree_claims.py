"""What several trees of one model claim of differential privacy, each for itself, and what that promises of the whole.

A claim that names which records its trees saw (``trees=all``, ``trees=parts``) is about the model; without these words
it is about the tree that it stands in. Mechanisms on the same records compose: their epsilons and deltas add up (Dwork
et al. 2006). Elsewhere the whole is held to the worst that a tree says, and what differs stays open: a model has no
claim that one of its trees does not make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from treewarden.ppdm_models.tree.privacy_claim import (
    BoundsOrigin,
    ClaimUnit,
    LabelMechanism,
    PrivacyClaim,
    ProducerFacts,
    SplitOrigin,
    TreeRecords,
    add_epsilons,
)

SOME_WITHOUT = (
    "{some} of its {trees} trees {make} no claim of differential privacy, so no claim holds for the whole model; "
    "publish only trees that make one"
)
DIFFERENT = (
    "its trees make different claims about the whole model ({words}), so none of them can be relied on; publish trees "
    "of one training"
)
UNLIKE = (
    "its trees differ in {what}, and treewarden judges only trees that were all drawn in the same way; "
    "audit each tree by itself, and add up their epsilons"
)


def claim_of_trees(claims: Sequence[PrivacyClaim | None]) -> PrivacyClaim | None:
    """Return what the claims of all trees promise of the whole; None where no tree makes one that is known."""
    made = [claim for claim in claims if claim is not None]
    if not made:
        return None
    is_whole = [
        claim.producer.is_of_whole or claim.trees is not TreeRecords.UNKNOWN for claim in made
    ]
    if len(set(claims)) == 1 and (len(claims) == 1 or is_whole[0]):
        return made[0]
    epsilons = [claim.epsilon for claim in made]
    deltas = [claim.delta for claim in made]
    labels = [_label_epsilon(claim) for claim in made]
    return PrivacyClaim(
        epsilon=add_epsilons(epsilons),
        delta=min(1.0, add_epsilons(deltas)),
        unit=_shared([claim.unit for claim in made], ClaimUnit.UNKNOWN),
        mechanism=_shared([claim.mechanism for claim in made], LabelMechanism.UNKNOWN),
        label_epsilon=_shared(labels, None),
        splits=_shared([claim.splits for claim in made], SplitOrigin.UNKNOWN),
        trees=_shared([claim.trees for claim in made], TreeRecords.UNKNOWN),
        bounds_origin=_worst_bounds(made),
        bounds=_shared([claim.bounds for claim in made], ()),
        may_read_classes=any(claim.may_read_classes for claim in made),
        is_seeded=any(claim.is_seeded for claim in made),
        producer=ProducerFacts(
            unprotected=_each_once(claim.producer.unprotected for claim in made),
            unevaluated=(
                *_disagreements(claims, made, any(is_whole)),
                *_each_once(claim.producer.unevaluated for claim in made),
            ),
            is_of_whole=True,
        ),
    )


def _label_epsilon(claim: PrivacyClaim) -> float | None:
    """Return what a tree spends on its labels: all of its epsilon, where no record had a part in its tests."""
    if claim.label_epsilon is not None or claim.trees is not TreeRecords.UNKNOWN:
        return claim.label_epsilon
    return claim.epsilon if claim.splits is SplitOrigin.INDEPENDENT else None


Value = TypeVar("Value")


def _shared(values: Sequence[Value], unknown: Value) -> Value:
    return values[0] if len(set(values)) == 1 else unknown


def _worst_bounds(claims: Sequence[PrivacyClaim]) -> BoundsOrigin:
    origins = {claim.bounds_origin for claim in claims}
    for origin in (BoundsOrigin.TABLE, BoundsOrigin.UNKNOWN):
        if origin in origins:
            return origin
    return BoundsOrigin.PUBLIC


def _each_once(reasons: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for part in reasons for reason in part))


def _disagreements(
    claims: Sequence[PrivacyClaim | None], made: Sequence[PrivacyClaim], has_whole: bool
) -> tuple[str, ...]:
    """Return why what the trees say cannot be judged as one claim."""
    found = []
    lacking = len(claims) - len(made)
    if lacking:
        make = "makes" if lacking == 1 else "make"
        found.append(SOME_WITHOUT.format(some=lacking, trees=len(claims), make=make))
    if has_whole and len(set(made)) > 1:
        words = dict.fromkeys(f"epsilon={claim.epsilon:g}" for claim in made)
        found.append(DIFFERENT.format(words=", ".join(list(words)[:MOST_NAMED])))
    for what, read in ASPECTS.items():
        if len({read(claim) for claim in made}) > 1:
            found.append(UNLIKE.format(what=what))
    return tuple(found)


MOST_NAMED = 4
"""So many different claims are named at most."""
ASPECTS: dict[str, Callable[[PrivacyClaim], object]] = {
    "the mechanism of their labels": lambda claim: claim.mechanism,
    "how their splits were chosen": lambda claim: claim.splits,
    "the epsilon of their labels": _label_epsilon,
    "whom the claim protects (unit)": lambda claim: claim.unit is ClaimUnit.PERSON,
    "their bounds": lambda claim: claim.bounds,
}
"""What is judged of all trees alike, in words, and how it is read."""
