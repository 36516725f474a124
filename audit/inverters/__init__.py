"""Turns the leaf values of boosted models back into how many of a leaf's people have a class: one file per library.

A leaf value without row sampling is an invertible function of the labels in its leaf, whose other terms whoever knows
the quasi-identifiers computes from the trees before. All that is not known exactly, down to the rounding of the
library's own arithmetic, is carried as an interval, so that what comes out is proved.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.plugins import PluginIndex, discover
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.ensemble import (
    EnsembleGrowth,
    Fact,
    FactSource,
    Model,
    growth_of,
    trees_of,
)
from treewarden.ppdm_models.tree.tree import Tree

if TYPE_CHECKING:
    from treewarden.audit.inverters._bounds import NumberBounds

CUT = (
    "leaf values are rounded, and it is not known whether other numbers in the file reveal "
    "the removed digits"
)


CLOSE = 1e-6
"""Settings that follow from rounded numbers of a file are the same where they differ by no more of their size."""
NO_MEMBERS = "membership cannot be computed from leaf values of this library"
NO_NUMBERS = "leaf values of this library's regression models cannot be inverted"
WIDE = 0.5
"""Bounds at least so far apart come from more than rounding."""
ONLY_BOUNDS = (
    "some leaves give only bounds (limited steps, several possible steps, or weighted "
    "records), and other numbers of the file may narrow them"
)
SCORED = (
    "the file contains a score that may be of the training records (best_score); remove "
    "it: treewarden redact"
)
CUT_BY_DEFAULT = (
    "leaf values are rounded, so many training settings are possible. The library's "
    "defaults were assumed; an adversary who knows the true ones may infer more; give them "
    "under [training] in a knowledge file"
)
FEW_CUT = (
    "too few leaf values show how far they were rounded. An adversary who knows it may infer more"
)
MOST_SHORT = 20
"""So many leaves of later rounds show how many digits were kept: by chance all are shorter once in a million."""
SAMPLED_NUMBERS = (
    "each round used a sample of the records (bagging). For regression models this cannot "
    "be inverted"
)
SAMPLED_MEMBERS = "each round used a sample of the records, so membership cannot be computed"
CUT_MEMBERS = "leaf values are rounded, so membership cannot be computed"
FEW_DIGITS = (
    "leaf values are rounded. For regression models, it is not computed whether other "
    "numbers reveal the removed digits"
)


@dataclass(frozen=True, slots=True, eq=False)
class GrownCase:
    """A boosted model over people: ``stops`` (T, P) is where each profile stops, ``people`` (P,) how many it has.

    Where trees saw samples that are known, each profile is one record, and ``draws`` (T, P) says how often each tree
    drew it; where they are not known, ``is_sampled`` says so. ``ends`` (R,) are between which whole numbers each sum of
    the case lies, in the order in which they are told, where more is known of that than the values say. ``columns``
    hold one value per profile, where they are known. ``in_order`` says that a library which keeps scores in 32 bits
    added each tree to them in turn, as it does unless training was resumed elsewhere.
    """

    growth: EnsembleGrowth
    trees: tuple[Tree, ...]
    stops: IndexArray
    people: FloatArray
    classes: int
    draws: IntArray | None = None
    is_sampled: bool = False
    ends: tuple[IntArray, IntArray] | None = None
    columns: Mapping[str, Column] | None = None
    in_order: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """A sum over those of each leaf's people who have a class: each adds ``each`` (P,) by the profile.

    It lies between ``low`` and ``high`` (L,) in the leaf at ``nodes``, ``place`` (P,) is everybody's leaf among them.
    """

    tree: int
    output: int
    nodes: IndexArray
    place: IndexArray
    each: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class LeafSums:
    """How many people of each leaf have a class, one entry per leaf and counted class, shape (R,).

    ``low`` and ``high`` are whole numbers between which the count lies, ``wide`` is how far apart the ends were before
    they were made whole. ``output`` is the class counted; of two classes only the second is. ``facts`` are the settings
    that were used, and ``said`` what the reader should know of how it was done. ``added`` are other sums over the same
    people, of numbers that are not whole. Where trees saw samples that are known, draws are counted in place of people.
    Without ``is_complete`` they saw samples that are not, or the file says more in another way, ``missing`` in words:
    then the ends hold, but whoever is not certain by them may be so yet. ``totals`` are the ends, by class, of how many
    of all people have it, where the file says more of that than leaves. ``is_cut`` says that values had few digits, so
    that what is learnt of a leaf elsewhere narrows others in turn; ``reads_labels`` that some counts are withheld, and
    the labels of their leaves are read.
    """

    trees: IndexArray
    nodes: IndexArray
    output: IndexArray
    low: IntArray
    high: IntArray
    wide: FloatArray
    facts: Mapping[str, Fact]
    said: tuple[str, ...] = ()
    added: tuple[Added, ...] = ()
    is_complete: bool = True
    missing: str = ""
    totals: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    is_cut: bool = False
    reads_labels: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """How often each tree drew each record, (T, P), and the settings that this shows where the file is silent."""

    often: IntArray
    facts: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ValueSums:
    """Sums of the target over the people of each leaf, one entry per leaf, shape (R,): between ``low`` and ``high``.

    ``least`` and ``most`` (P,) are what published spreads of leaves leave of one person's value, infinite where nothing
    does. ``is_all`` says that whatever else the file says of the target follows from these sums: another table that
    has the same sums gives the same file. ``facts`` are the settings that were used, and ``said`` what the reader
    should know of how it was done.
    """

    trees: IndexArray
    nodes: IndexArray
    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray
    is_all: bool
    facts: Mapping[str, Fact]
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MemberSums:
    """Sums over the members of each leaf of a tree, where each adds a number that hangs on his class.

    Of a profile the number lies between the ends of ``each`` (P,), to which ``of_class`` (m,) is added by the class.
    Where classes have weights, all that is taken ``times`` (m,) the weight of the class; None: they have none.
    The sums lie between the ends of ``total`` (L,), infinite where they say nothing; ``place`` (P,) is everybody's leaf
    among ``nodes`` (L,).
    """

    tree: int
    nodes: IndexArray
    place: IndexArray
    each: NumberBounds
    of_class: FloatArray
    total: NumberBounds
    times: FloatArray | None = None

    def over_classes(self) -> MemberSums:
        """Return sums of numbers that hang on the class by its weight alone, with the ends over all classes."""
        if self.times is None:
            return self
        ends = [end * weight for end in (self.each.low, self.each.high) for weight in self.times]
        each = replace(self.each, low=np.min(ends, axis=0), high=np.max(ends, axis=0))
        return replace(self, each=each, times=None)


class Inverter(ABC):
    """Knows one library's leaf values.

    ``defaults`` are the settings that the library takes where nobody says otherwise, by its own names for them: of
    those that leaf values depend on, ``number_defaults`` where these predict a number. ``reads_cut`` says that it knows
    which other numbers of the file would give back the digits of leaf values that were cut to few. ``sampling`` are the
    settings, by name, that say which records each tree saw, ``seed`` the one of them that the draws start from, and
    ``default_seed`` what it is by itself. ``says_bounds`` says that files tell whether leaf values were bounded to keep
    predictions in order.
    """

    defaults: ClassVar[Mapping[str, float]] = {}
    number_defaults: ClassVar[Mapping[str, float]] = {}
    reads_cut: ClassVar[bool] = False
    sampling: ClassVar[tuple[str, ...]] = ()
    seed: ClassVar[str] = ""
    default_seed: ClassVar[int] = 0
    says_bounds: ClassVar[bool] = True

    def facts(self, growth: EnsembleGrowth, trees: Sequence[Tree]) -> Mapping[str, Fact]:
        """Return the settings that the file says, and those that follow from its numbers alone."""
        return growth.facts

    def may_be(
        self, growth: EnsembleGrowth, trees: Sequence[Tree], stated_settings: Mapping[str, float]
    ) -> bool:
        """Return whether the numbers of the file allow settings that it does not say, all together."""
        facts = self.facts(growth, trees)
        return all(_agrees(facts.get(name), value) for name, value in stated_settings.items())

    def is_sampled(self, growth: EnsembleGrowth) -> bool | None:
        """Return whether each tree saw a sample of the records; None where nobody says it."""
        return False

    def is_cut(self, case: GrownCase) -> bool:
        """Return whether leaf values were cut to few binary digits."""
        from treewarden.audit.inverters._bounds import rounded_by  # for who inverts values

        values = np.concatenate([tree.values.ravel() for tree in case.growth.trees])
        return bool(rounded_by(values).any())

    def is_of(self, growth: EnsembleGrowth, people: float) -> bool:
        """Return whether the first tree may have seen so many people; False where the file shows that it did not."""
        return True

    def seen_whole(self, growth: EnsembleGrowth, people: float) -> Mapping[str, Fact]:
        """Return the settings that follow where the first tree saw just so many people: none, if it cannot be told."""
        return {}

    def beside_steps(self, case: GrownCase) -> FloatArray | Undetermined:
        """Return what stands in all leaves of each tree beside its step, (T,): a start, in some; or why none can say.

        Of a value that is cut to few digits this part stays whole, as predictions would move by all that it loses.
        """
        return np.zeros(len(case.growth.trees))

    def draws(self, case: GrownCase, seed: int) -> Iterator[Draws]:
        """Yield what each tree drew if draws started from a seed, in each way that there is; records are in order."""
        return iter(())

    @abstractmethod
    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        """Return what the leaf values say of the labels, or why nothing that is certain."""

    def members(self, case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
        """Return what leaves say of members where the people of the case are candidates, any of whom may be one."""
        return Undetermined(NO_MEMBERS)

    def numbers(self, case: GrownCase, largest: float) -> ValueSums | Undetermined:
        """Return what the leaf values say of a target that is a number, of at most this size, either sign."""
        return Undetermined(NO_NUMBERS)


@cache
def inverters() -> PluginIndex[Inverter]:
    """Return the inverters by the library's name."""
    return discover(sys.modules[__name__], "INVERTER", Inverter)


def facts_of(model: Model, people: float | None = None) -> Mapping[str, Fact]:
    """Return what a file says of how its trees were grown, and what follows from its numbers; empty for no ensemble.

    Where it is told how many people the table has, so does what this shows of samples.
    """
    growth = growth_of(model)
    if growth is None:
        return {}
    inverter = inverters()[growth.library]
    facts = inverter.facts(growth, tuple(trees_of(model)))
    return facts if people is None else {**inverter.seen_whole(growth, people), **facts}


def contradicted(model: Model, stated_settings: Mapping[str, float]) -> Mapping[str, Fact]:
    """Return what a file says, or shows by its numbers, in place of told settings; empty where these may be true.

    Told settings count before those that follow from the file, wherever the file's numbers allow them too.
    """
    growth = growth_of(model)
    if growth is None:
        return {}
    inverter, trees = inverters()[growth.library], tuple(trees_of(model))
    said = {
        name: fact
        for name, value in stated_settings.items()
        if not _agrees(fact := growth.fact(name), value)
    }
    if said or inverter.may_be(growth, trees, withheld_of(growth, stated_settings)):
        return said
    facts = inverter.facts(growth, trees)
    return {
        name: facts[name]
        for name, value in stated_settings.items()
        if name in facts and not _agrees(facts[name], value)
    }


def _agrees(fact: Fact | None, value: float) -> bool:
    """Return whether a fact is not known, or as somebody tells it."""
    if fact is None or fact.value is None:
        return True
    return math.isclose(fact.value, value, rel_tol=CLOSE, abs_tol=CLOSE)


def settings_of(model: Model) -> frozenset[str]:
    """Return the names of the settings that the leaf values of a model depend on; empty where none is known."""
    growth = growth_of(model)
    return frozenset() if growth is None else _settings(growth.library)


def _settings(library: str) -> frozenset[str]:
    inverter = inverters()[library]
    return frozenset((*inverter.defaults, *inverter.number_defaults, *inverter.sampling))


def withheld_of(growth: EnsembleGrowth, stated_settings: Mapping[str, float]) -> dict[str, float]:
    """Return those of the settings that the file does not say."""
    return {
        name: value for name, value in stated_settings.items() if growth.fact(name).value is None
    }


def knowing(
    growth: EnsembleGrowth,
    stated_settings: Mapping[str, float],
    source: FactSource = FactSource.TOLD,
) -> EnsembleGrowth:
    """Return the growth as somebody sees it who was told settings that the file withholds, or takes them to be so.

    Raises:
        KeyError: the library has no such setting that leaf values depend on.
    """
    settings = _settings(growth.library)
    strange = [name for name in stated_settings if name not in settings]
    if strange:
        raise KeyError(strange[0])
    facts = {
        name: Fact(float(said), source)
        for name, said in withheld_of(growth, stated_settings).items()
    }
    return replace(growth, facts={**growth.facts, **facts})


def taking_defaults(case: GrownCase) -> GrownCase | None:
    """Return a case whose library was left to itself where the file is silent; None where it says all settings."""
    growth = case.growth
    defaults = inverters()[growth.library].defaults
    silent_on = {name: value for name, value in defaults.items() if growth.fact(name).value is None}
    if not silent_on:
        return None
    return replace(case, growth=knowing(growth, silent_on, FactSource.TAKEN))


def doubting(
    doubt: Undetermined, growth: EnsembleGrowth | None, stated_settings: Mapping[str, float]
) -> Undetermined:
    """Return why nothing follows from leaf values; where settings were told, that it may be these that are wrong."""
    if growth is None or growth.refused or not (used := withheld_of(growth, stated_settings)):
        return doubt
    said = ", ".join(f"{name} = {value:g}" for name, value in used.items())
    return Undetermined(
        f"{doubt.reason}; or the training settings differ from those assumed ({said})"
    )


def leaf_sums(case: GrownCase) -> LeafSums | Undetermined:
    """Return what the leaf values of a model say of its people's labels, or why nothing that is certain."""
    problem = _refused(case)
    if problem is not None:
        return problem
    inverter = inverters()[case.growth.library]
    if case.draws is None and inverter.is_sampled(case.growth):
        case = replace(case, is_sampled=True)
    is_cut = inverter.is_cut(case)
    if not inverter.reads_cut and is_cut:
        return Undetermined(CUT)
    sums = inverter.sums(case)
    return sums if isinstance(sums, Undetermined) else _with_doubts(sums, case, is_cut=is_cut)


def _with_doubts(sums: LeafSums, case: GrownCase, *, is_cut: bool) -> LeafSums:
    """Return sums that are called incomplete where other numbers of the file would tell more of the labels.

    What limits steps leaves bounds of a leaf, which sums at the nodes above it may narrow. Of values that were cut
    these numbers are gone: a file that has them is refused.
    """
    missing = sums.missing
    if case.growth.scored:
        missing = SCORED
    elif not is_cut and ((sums.low < sums.high) & (sums.wide >= WIDE)).any():
        missing = ONLY_BOUNDS
    elif is_cut and any(fact.source is FactSource.TAKEN for fact in case.growth.facts.values()):
        missing = CUT_BY_DEFAULT
    elif is_cut and _values_after_the_first(case.growth) < MOST_SHORT:
        missing = FEW_CUT
    sums = replace(sums, is_cut=is_cut)
    return replace(sums, is_complete=False, missing=missing) if missing else sums


def _values_after_the_first(growth: EnsembleGrowth) -> int:
    """Return how many leaf values that are not 0 the rounds after the first have; those of the first may be short."""
    later = (growth.trees[tree].values for trees in growth.rounds[1:] for tree in trees)
    return sum(int(np.count_nonzero(np.nan_to_num(values))) for values in later)


def value_sums(case: GrownCase, largest: float) -> ValueSums | Undetermined:
    """Return what the leaf values of a model say of a target of at most this size, or why nothing that is certain."""
    problem = _refused(case)
    if problem is not None:
        return problem
    if case.growth.outputs != 1:
        return Undetermined("the model predicts several numbers")
    inverter = inverters()[case.growth.library]
    if inverter.is_cut(case):
        return Undetermined(FEW_DIGITS)
    if inverter.is_sampled(case.growth):
        return Undetermined(SAMPLED_NUMBERS)
    return inverter.numbers(case, largest)


def member_sums(case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
    """Return what leaf values say of who of a register was in the table, or why nothing that is certain.

    The people of the case are candidates: each may have been in the table, or not.
    """
    growth = replace(case.growth, refused="") if case.growth.is_only_weighed else case.growth
    case = replace(case, growth=growth)
    problem = _refused(case)
    if problem is not None:
        return problem
    inverter = inverters()[case.growth.library]
    if inverter.is_sampled(case.growth):
        return Undetermined(SAMPLED_MEMBERS)
    return Undetermined(CUT_MEMBERS) if inverter.is_cut(case) else inverter.members(case)


def _refused(case: GrownCase) -> Undetermined | None:
    """Return why leaf values cannot be inverted, whatever the library."""
    growth = case.growth
    if growth.refused:
        return Undetermined(growth.refused)
    if growth.start is None:
        return Undetermined("the model's start value is not published")
    for tree, stops in zip(growth.trees, case.stops, strict=True):
        if (stops < 0).any() or not tree.is_leaf[stops].all():
            return Undetermined("some records reach no leaf of a tree")
    return None
