"""Several trees published as one model: how their scores are combined, and what cannot be.

With them stand the model's claim of differential privacy (by its file, or stated by its owner), and what a boosted
model's file tells of how it was grown, as far as its leaf values can be inverted into sums. Its numbers are those of
the file; the inverters say what they mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.tree.predicate import Always, Predicate
from treewarden.ppdm_models.tree.privacy_claim import PrivacyClaim, claim_of_trees
from treewarden.ppdm_models.tree.tree import PRIVACY, Feature, Task, Tree


class FactSource(StrEnum):
    """Where a fact comes from: the file says it, it follows from the file's numbers, or the file withholds it.

    What is withheld may be told by somebody else, or taken to be what the library does by itself.
    """

    KNOWN = "known"
    DERIVED = "derived"
    WITHHELD = "withheld"
    TOLD = "told"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class Fact:
    """One setting of the training: its value, and where it comes from; ``why`` it is not known, where it is not."""

    value: float | None
    source: FactSource
    why: str = ""


def stated_fact(value: float) -> Fact:
    """Return a fact that the file says."""
    return Fact(float(value), FactSource.KNOWN)


def derived(value: float) -> Fact:
    """Return a fact that follows from other numbers of the file."""
    return Fact(float(value), FactSource.DERIVED)


def withheld(why: str = "the file does not say it") -> Fact:
    """Return that a fact is not known."""
    return Fact(None, FactSource.WITHHELD, why)


@dataclass(frozen=True, slots=True, eq=False)
class GrownTree:
    """The numbers of one tree, by node in document order, shape (N,); NaN where a node has none.

    ``values`` are those of the leaves, as the file adds them: (N, K) where each holds the numbers of all K outputs.
    ``hessians`` are sums of second derivatives, ``counts`` training records, ``weights`` what nodes say by themselves,
    ``gains`` what their splits gain (all as published), ``second`` a second number of each node (an impurity, a sum of
    squares). ``output`` is the class or target that the tree adds to, ``rate`` what its values were shrunk by, where
    files say it tree by tree. None stands for what is not published.
    """

    values: FloatArray
    output: int = 0
    hessians: FloatArray | None = None
    counts: FloatArray | None = None
    weights: FloatArray | None = None
    gains: FloatArray | None = None
    second: FloatArray | None = None
    rate: float | None = None

    @property
    def is_leaf(self) -> BoolArray:
        """Which nodes have values, (N,)."""
        there = ~np.isnan(self.values)
        return there if there.ndim == 1 else np.asarray(there.all(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleGrowth:
    """How an ensemble was grown.

    ``library`` names who can turn its leaf values back (a plug-in of ``treewarden.audit.inverters``), ``objective``
    is that library's name for it. ``rounds`` are the trees, by index, that saw the same scores: those of one round.
    ``start`` are the scores before the first round, one per output (None: not known). ``single`` says that scores are
    kept in 32 bits. ``facts`` are the settings by the names that the library gives them. ``refused`` is why nothing can
    be turned back, "" where nothing speaks against it. ``trees`` has an entry per tree. ``scored`` says that the file
    may tell how well the model did on its training records: a number that depends on more of them than sums;
    ``importances`` that it adds up the gains of splits beside its trees. ``unstated`` are settings that would make
    leaves other sums, and of which the file says nothing. ``is_only_weighed`` says that nothing but a weight of the
    second class is why they are refused, and that ``facts`` state it exactly: it can be divided out of sums.
    """

    library: str
    objective: str
    outputs: int
    rounds: tuple[tuple[int, ...], ...]
    trees: tuple[GrownTree, ...]
    start: tuple[float, ...] | None
    single: bool = False
    facts: Mapping[str, Fact] = field(default_factory=dict)
    refused: str = ""
    scored: bool = False
    importances: bool = False
    unstated: tuple[str, ...] = ()
    is_only_weighed: bool = False

    def fact(self, name: str) -> Fact:
        """Return a setting by its name; one that is withheld where nothing is said of it."""
        return self.facts.get(name, withheld())


class Combination(StrEnum):
    """How the scores of the members become one (PMML 4.4, multipleModelMethod, and what the boosting tools do).

    ``additive`` adds up terms of one column each, of a model that has no decision trees.
    """

    SUM = "sum"
    AVERAGE = "average"
    WEIGHTED_AVERAGE = "weighted-average"
    WEIGHTED_SUM = "weighted-sum"
    MEDIAN = "median"
    WEIGHTED_MEDIAN = "weighted-median"
    MAJORITY_VOTE = "majority-vote"
    WEIGHTED_MAJORITY_VOTE = "weighted-majority-vote"
    MAX = "max"
    SELECT_FIRST = "select-first"
    SELECT_ALL = "select-all"
    MODEL_CHAIN = "model-chain"
    ADDITIVE = "additive"


OF_FORESTS = (
    Combination.AVERAGE,
    Combination.WEIGHTED_AVERAGE,
    Combination.MAJORITY_VOTE,
    Combination.WEIGHTED_MAJORITY_VOTE,
)
"""How trees are combined that are each trained by themselves, on all records or on a sample of their own."""


class Link(StrEnum):
    """What turns the combined score into what the model predicts."""

    IDENTITY = "identity"
    LOGISTIC = "logistic"
    SOFTMAX = "softmax"
    EXP = "exp"
    UNKNOWN = "unknown"


class Silence(StrEnum):
    """What becomes of the whole where a member predicts nothing (PMML 4.4, missingPredictionTreatment).

    To continue leaves it to the combination: nothing is a vote as any other, and spoils everything but a vote.
    """

    CONTINUE = "continue"
    SKIP_SEGMENT = "skip-segment"
    RETURN_MISSING = "return-missing"


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """How a leaf of a boosted model for the squared error is made: rate * sum of residuals / (records + ridge).

    (Chen & Guestrin 2016, equation 5, and a rate as in section 2.3.) Residuals are what the trees before left over.
    ``starts_inside`` says that the number which the model starts from is added to the leaves of the first tree.
    """

    rate: float
    ridge: float
    starts_inside: bool = False

    def __post_init__(self) -> None:
        if not (0 < self.rate < math.inf and 0 <= self.ridge < math.inf):
            raise ValueError(f"no shrinkage: rate {self.rate}, ridge {self.ridge}")


def shrinkage_of(rate: float, ridge: float, starts_inside: bool = False) -> Shrinkage | None:
    """Return a shrinkage; None where the numbers of a file are those of none."""
    try:
        return Shrinkage(rate, ridge, starts_inside)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class NonTreeModel:
    """A part of a model that is no tree (a regression, a scorecard): named, never evaluated."""

    kind: str
    name: str = ""
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Member:
    """One part of an ensemble: when it speaks (``test``), how much (``weight``), and for which output.

    ``output`` is the class (or target) that a tree's number is added to; None where its score speaks for all of them.
    """

    model: Tree | Ensemble | NonTreeModel
    weight: float = 1.0
    output: int | None = None
    test: Predicate = field(default_factory=Always)
    name: str = ""


@dataclass(frozen=True, slots=True)
class SilentMembers:
    """What becomes of the whole where members predict nothing.

    Where they are skipped, the whole is silent if they are more than ``most_share`` of the weights of those asked.
    """

    treatment: Silence = Silence.CONTINUE
    most_share: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class SeededBootstrap:
    """Bootstrap samples that anybody can draw again: the trees drew from ``records`` records, each by its seed.

    ``distinct`` has, for each tree, how many different records each node holds, by node in document order, (N,).
    ``is_unweighted`` says that the file states that no record had a weight.
    """

    records: int
    distinct: tuple[IntArray, ...]
    is_unweighted: bool = False


@dataclass(frozen=True, slots=True)
class TreeSampling:
    """How the records were drawn that a tree of an ensemble is grown on.

    ``resampled`` says that the counts of a tree are of a bootstrap or subsample: they count draws, not people (None:
    the file does not say). ``held_out`` says that the sample is one for all trees: some records were kept aside to know
    when to stop, and each of the others counts once at most. ``seeds`` are what the bootstrap of each tree was drawn
    from, where the file says it, and ``bootstrap`` what it says of these samples: no part of its value.
    """

    resampled: bool | None = None
    held_out: bool = False
    seeds: tuple[int, ...] = field(default=(), compare=False)
    bootstrap: SeededBootstrap | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A published model of several trees.

    ``base`` is added to the combined score: one number per output, or one for all. ``features`` are those of all
    members, in the file's order. ``shrinkage`` is given where the file says it, and all trees have it. ``growth`` is
    what tells how leaf values were made, of these very trees. It is no part of its value; nor are ``source``,
    ``format`` and ``notes``.
    """

    members: tuple[Member, ...]
    combination: Combination
    features: tuple[Feature, ...]
    target: str
    classes: tuple[str, ...] = ()
    task: Task = Task.CLASSIFICATION
    base: tuple[float, ...] = ()
    link: Link = Link.IDENTITY
    sampling: TreeSampling = TreeSampling()
    silence: SilentMembers = SilentMembers()
    shrinkage: Shrinkage | None = None
    growth: EnsembleGrowth | None = field(default=None, compare=False)
    source: str = field(default="ensemble", compare=False)
    format: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("an ensemble needs a member")

    @property
    def is_additive(self) -> bool:
        """Whether its members are the terms of an additive model, whose bins nobody takes for leaves."""
        return self.combination is Combination.ADDITIVE

    @property
    def trees(self) -> Iterator[Tree]:
        """The trees, those of nested ensembles too, in the file's order."""
        return (part for part in self._parts() if isinstance(part, Tree))

    @property
    def others(self) -> Iterator[NonTreeModel]:
        """The parts that are no trees, in the file's order."""
        return (part for part in self._parts() if isinstance(part, NonTreeModel))

    @property
    def ensembles(self) -> Iterator[Ensemble]:
        """Itself and the ensembles nested in it, in the file's order."""
        return (part for part in self._parts() if isinstance(part, Ensemble))

    def _parts(self) -> Iterator[Tree | Ensemble | NonTreeModel]:
        stack: list[Tree | Ensemble | NonTreeModel] = [self]
        while stack:
            part = stack.pop()
            yield part
            if isinstance(part, Ensemble):
                stack.extend(member.model for member in reversed(part.members))


Model = Tree | Ensemble


def outputs_of(model: Model) -> int:
    """Return how many numbers a model predicts for a record; 1 for a model that predicts a class."""
    if model.task is not Task.REGRESSION:
        return 1
    if isinstance(model, Tree):
        return next((len(leaf.outputs) for leaf in model.leaves[:1] if leaf.outputs), 1)
    added = model.combination in (Combination.SUM, Combination.WEIGHTED_SUM, Combination.AVERAGE)
    parts = [len(model.base)] if added else []
    for member in model.members:
        if member.output is not None:
            parts.append(member.output + 1)
        elif not isinstance(member.model, NonTreeModel):
            parts.append(outputs_of(member.model))
    return max(parts, default=1)


def with_trees(ensemble: Ensemble, trees: Iterator[Tree]) -> Ensemble:
    """Return the ensemble with other trees, given in the order of its own.

    All else stays, but what was said of how the old ones were grown.
    """
    members: list[Member] = []
    for member in ensemble.members:
        model = member.model
        if isinstance(model, Tree):
            model = next(trees)
        elif isinstance(model, Ensemble):
            model = with_trees(model, trees)
        members.append(replace(member, model=model))
    sampling = replace(ensemble.sampling, seeds=(), bootstrap=None)
    return replace(ensemble, members=tuple(members), growth=None, sampling=sampling)


def first_members(ensemble: Ensemble, members: int) -> Ensemble:
    """Return the ensemble without its last members.

    All else stays, but what was said of how the trees were grown.
    """
    return replace(ensemble, members=ensemble.members[:members], growth=None)


def growth_of(model: Model) -> EnsembleGrowth | None:
    """Return how a model's trees were grown one after the other; None where they were not, or there is one."""
    return model.growth if isinstance(model, Ensemble) else None


def trees_of(model: Model) -> Iterator[Tree]:
    """Yield the trees of a model: itself where it is one."""
    if isinstance(model, Tree):
        yield model
    else:
        yield from model.trees


def claims_privacy(model: Model) -> bool:
    """Return whether some tree of a model claims differential privacy, whatever is known of the claim."""
    return any(tree.learner.claims_privacy for tree in trees_of(model))


def claim_of(model: Model) -> PrivacyClaim | None:
    """Return the claim of a model; None where no tree makes one that is known.

    Of trees that claim by themselves it is what they promise together, and why that stays open where they differ.
    """
    if isinstance(model, Tree):
        return model.learner.claim
    return claim_of_trees([tree.learner.claim for tree in trees_of(model)])


def with_claim(model: Model, claim: PrivacyClaim | None) -> Model:
    """Return the model with this claim: its labels and numbers may have been drawn, and none is taken for certain.

    With None it claims privacy, and nobody knows how much.
    """
    if isinstance(model, Tree):
        return _claiming(model, claim)
    whole = claim
    if claim is not None:
        whole = replace(claim, producer=replace(claim.producer, is_of_whole=True))
    claimed = (_claiming(tree, whole) for tree in trees_of(model))
    return replace(with_trees(model, claimed), growth=model.growth, sampling=model.sampling)


def _claiming(tree: Tree, claim: PrivacyClaim | None) -> Tree:
    learner = tree.learner
    unmodelled = learner.unmodelled if learner.claims_privacy else (*learner.unmodelled, PRIVACY)
    return replace(tree, learner=replace(learner, unmodelled=unmodelled, claim=claim))
