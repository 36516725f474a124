"""How the tests of one tree use its fields: which must be read with all digits, and for which records are refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from treewarden.ppdm_models.codecs.pmml.sources import Computed, Source, refusal
from treewarden.ppdm_models.tree.treatment import Treatment


@dataclass(frozen=True, slots=True)
class Kept:
    """What is read more carefully than at first.

    The raw fields in ``exact`` keep all their digits, as not all tests round them to 32 bits. Of those in ``mixed`` not
    all tests refuse the same values, so that each test says itself which it refuses.
    """

    exact: frozenset[str] = frozenset()
    mixed: frozenset[str] = frozenset()


NOTHING_KEPT = Kept()
NEEDS_VALUE = Treatment(needs_value=True)


@dataclass(frozen=True, slots=True)
class Use:
    """A field that tests name, and the raw field that it is made of.

    ``is_single`` says that it holds numbers of 32 bits; ``refusal`` for which raw values an evaluator refuses the
    record, as a computed field has no value then; ``note`` what a reader is told of that.
    """

    name: str
    feature: str
    is_single: bool
    refusal: Treatment | None
    note: str = field(default="", compare=False)


def use_of(name: str, source: Source, *, is_plain: bool) -> Use:
    """Return the use of a field; ``is_plain`` says that it is a raw one in 32 bits."""
    refused = refusal(source.cases) if isinstance(source, Computed) else None
    note = ""
    if refused is not None:
        causes = [f"some values of {source.feature!r}"] if refused != NEEDS_VALUE else []
        causes += [
            "a missing one" if causes else f"a missing {source.feature!r}"
        ] * refused.needs_value
        note = (
            f"the field {name[:80]!r} cannot be computed from {' or '.join(causes)}; records with "
            "that are refused, as JPMML-Evaluator does it"
        )
    return Use(name, source.feature, is_plain, refused, note)


def keep_more(kept: Kept, uses: Iterable[Use], rounded: frozenset[str], *, is_lazy: bool) -> Kept:
    """Return what is to be read more carefully.

    ``rounded`` are the raw fields of which tests see 32 bits only; ``is_lazy`` says that some test asks for a field
    only where it must.
    """
    uses = tuple(uses)
    exact = {use.feature for use in uses if not use.is_single} & rounded
    refusals: dict[str, set[Treatment | None]] = {}
    for use in uses:
        refusals.setdefault(use.feature, set()).add(use.refusal)
    mixed = {
        feature
        for feature, found in refusals.items()
        if len(found) > 1 or (is_lazy and found != {None})
    }
    return Kept(kept.exact | exact, kept.mixed | mixed)


def refusals_by_feature(kept: Kept, uses: Iterable[Use]) -> dict[str, Treatment]:
    """Return by raw field for which of its values records are refused whenever a test asks for it."""
    return {
        use.feature: use.refusal
        for use in uses
        if use.refusal is not None and use.feature not in kept.mixed
    }
