"""Tree-pattern-preserving sanitisation (TPP): a table generalised so far that the same tree still grows from it.

Source: the algorithm of Figs. 2 and 4 of "Secrecy Strengthening Concert (Privacy Protection) In Data Mining" (Pavithra,
Thangadurai). Two things differ by default, as the printed step 3 can move thresholds and makes small groups: a number
becomes one value per cell between thresholds (``one_per_cell``), and every size is believed only once the tree has been
built again from the sanitised records. ``as_published`` follows the printed text and only reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.learn.splits import ANY, Response
from treewarden.ppdm_models.methods.tpp.cells import (
    CategorySplit,
    NumberSplit,
    SplitsByAttribute,
    as_printed,
    merged,
    one_per_cell,
    renamed,
    splits_of_trees,
)
from treewarden.ppdm_models.methods.tpp.checks import BrokenCondition, differences, problems
from treewarden.ppdm_models.tables.diversity import is_anonymous, is_diverse
from treewarden.ppdm_models.tree.column import (
    CategoricalColumn,
    Column,
    Columns,
    NumericColumn,
    categorical,
)
from treewarden.ppdm_models.tree.tree import Tree

# Generalises a table as far as the trees grown on it allow (tree-pattern-preserving sanitisation, steps 2 to 4).


@dataclass(frozen=True, slots=True)
class SanitisedAttributes:
    """The sanitised attributes, and those in which some records keep a true value next to a split.

    ``names`` say what each value of an attribute that is parted by sets is called now.
    """

    columns: Columns
    anchored: tuple[str, ...]
    names: Mapping[str, Mapping[str, str]]


def generalise(
    columns: Columns,
    splits_by_attribute: SplitsByAttribute,
    *,
    as_published: bool = False,
    single: bool = False,
) -> SanitisedAttributes:
    """Return each attribute with the values that no tree tells apart made one; ``single`` where they compare 32 bits.

    What no tree uses becomes its mean, or ``*``; numbers follow ``one_per_cell``, or (``as_published``) the printed
    step 3; of categories, those that a split names keep their names and the others become ``*``, or (parted by sets)
    those that always go the same way become one.
    """
    found, anchored, names = {}, [], {}
    for name, column in columns.items():
        choices = splits_by_attribute.choices.get(name, ())
        if choices and all(choice.sides is not None for choice in choices):
            parted = categorical(column)
            names[name] = merged(parted.categories, choices)
            found[name] = _renamed(parted, names[name])
        elif isinstance(column, CategoricalColumn):
            found[name] = _named(column, choices)
        elif name not in splits_by_attribute.cuts:
            found[name] = _mean(column, single)
        else:
            found[name], has_anchors = _cut(
                column, splits_by_attribute.cuts[name], as_published, single
            )
            if has_anchors:
                anchored.append(name)
    return SanitisedAttributes(found, tuple(anchored), names)


def _mean(column: NumericColumn, single: bool) -> Column:
    mean = float(np.mean(np.sort(column.numbers)))
    return NumericColumn(np.full(len(column), float(np.float32(mean)) if single else mean))


def _named(column: CategoricalColumn, choices: Sequence[CategorySplit]) -> Column:
    """Keep the names that a split asks for; a multiway split asks for all. A single other value keeps its name too."""
    kept = {value for choice in choices for value in choice.values}
    others = [value for value in column.categories if value not in kept]
    if any(choice.is_fine for choice in choices) or (kept and len(others) == 1):
        return column
    return _renamed(column, {v: v if v in kept else ANY for v in column.categories})


def _renamed(column: CategoricalColumn, names: Mapping[str, str]) -> Column:
    categories = tuple(sorted(set(names.values())))
    recode = np.array([categories.index(names[v]) for v in column.categories], dtype=np.int64)
    return CategoricalColumn(codes=recode[column.codes], categories=categories)


def _cut(
    column: NumericColumn, cuts: Sequence[NumberSplit], as_published: bool, single: bool
) -> tuple[Column, bool]:
    distinct, place, counts = np.unique(column.numbers, return_inverse=True, return_counts=True)
    if as_published:
        values = as_printed(distinct, counts.astype(np.float64), cuts)
        return NumericColumn(values[place.reshape(-1)]), False
    cells = one_per_cell(distinct, cuts, single)
    return NumericColumn(cells.values[place.reshape(-1)]), bool(cells.anchored)


# The groups of a sanitised table: records with equal quasi-identifiers, and the requirements on each.


@dataclass(frozen=True, slots=True)
class RecordGroups:
    """G groups of records: ``sizes`` (G,), records per sensitive value ``classes`` (G, s), each record's group (N,)."""

    sizes: FloatArray
    classes: FloatArray
    values: tuple[str, ...]
    group_of: IndexArray

    @property
    def k(self) -> int:
        """The smallest group."""
        return int(self.sizes.min())

    @property
    def largest_share(self) -> float:
        """The share of the most frequent sensitive value, in the group where it is largest."""
        return float((self.classes.max(axis=1) / self.sizes).max())


class GroupRequirement(Protocol):
    """Something that the groups of a sanitised table must meet."""

    def lack(self, groups: RecordGroups) -> str:
        """Return what is missing, in words; nothing where the demand is met."""


@dataclass(frozen=True, slots=True)
class AtLeastK:
    """Every group holds k records or more (k-anonymity)."""

    k: int

    def lack(self, groups: RecordGroups) -> str:
        if is_anonymous(groups.sizes, self.k).all():
            return ""
        return f"the smallest group has {groups.k:,} of the required {self.k:,} records"


@dataclass(frozen=True, slots=True)
class Diverse:
    """In every group the most frequent sensitive value has less than 1/l of the records (l-diversity, strong form)."""

    l: float  # noqa: E741  # the name the notion has

    def lack(self, groups: RecordGroups) -> str:
        if is_diverse(groups.classes.max(axis=1), groups.sizes, self.l).all():
            return ""
        return (
            f"in a group {groups.largest_share:.1%} share one sensitive value, which is not less than "
            f"1/{self.l:g}"
        )


def grouped(columns: Columns, sensitive: CategoricalColumn) -> RecordGroups:
    """Return the groups of records that no column tells apart, in the order of their values."""
    size = len(sensitive)
    group_of = np.zeros(size, dtype=np.intp)
    for column in columns.values():
        own = np.unique(column.keys, return_inverse=True)[1].reshape(-1)
        joint = group_of * (int(own.max()) + 1) + own
        group_of = np.unique(joint, return_inverse=True)[1].reshape(-1)
    count, width = int(group_of.max()) + 1, len(sensitive.categories)
    cells = np.bincount(group_of * width + sensitive.codes, minlength=count * width)
    classes = cells.reshape(count, width).astype(np.float64)
    return RecordGroups(classes.sum(axis=1), classes, sensitive.categories, group_of)


class GrownByLearner(Protocol):
    """A tree that a learner grew, at every size on the way; ``learner`` grows it again from other records."""

    @property
    def learner(self) -> TreeLearner: ...

    def tree(self, splits: int) -> Tree:
        """Return the tree after so many splits, or the last one there is.

        Raises:
            LearnerError: the learner does not grow the same tree every time.
        """

    def tied(self, splits: int) -> int:
        """Return how many of these splits had an equally good rival."""


class TreeLearner(Protocol):
    """Grows trees best split first, so that the tree with one more split is the one before, expanded once.

    ``single`` says that it compares 32-bit numbers; ``slack`` is the share by which it may miss a leaf's mean;
    ``set_attributes`` are those whose categories it parts by sets (None: not settled yet).
    """

    single: ClassVar[bool]
    slack: ClassVar[float]

    @property
    def set_attributes(self) -> tuple[str, ...] | None: ...

    def growth(self, columns: Columns, response: Response, max_splits: int) -> GrownByLearner:
        """Grow a tree of up to so many splits on all columns."""


@dataclass(frozen=True, slots=True)
class Job:
    """One tree to preserve: who grows it, and what it predicts."""

    learner: TreeLearner
    response: Response


@dataclass(frozen=True, slots=True)
class SizeStep:
    """What one size of the trees comes to: ``lack`` is the demand that is not met, ``problems`` what is not kept."""

    splits: int
    leaves: tuple[int, ...]
    ties: tuple[int, ...]
    k: int
    groups: int
    largest_share: float
    anchored: tuple[str, ...]
    problems: tuple[BrokenCondition, ...]
    lack: str

    @property
    def size(self) -> str:
        """How many leaves its trees have, in words."""
        counts = " and ".join(str(count) for count in self.leaves)
        return f"{counts} {'leaf' if self.leaves == (1,) else 'leaves'}"


@dataclass(frozen=True, slots=True)
class SanitisedTable:
    """A sanitised table, shape (N,) per column, with the trees grown from it and the groups of its records."""

    step: SizeStep
    columns: Columns
    trees: tuple[Tree, ...]
    groups: RecordGroups


@dataclass(frozen=True, slots=True)
class Sanitised:
    """The largest size that meets every demand (None: not even one value per attribute does), and the way there."""

    best: SanitisedTable | None
    steps: tuple[SizeStep, ...]
    stopped: str


def sanitise(
    columns: Columns,
    jobs: Sequence[Job],
    sensitive: CategoricalColumn,
    demands: Sequence[GroupRequirement],
    *,
    max_splits: int,
    start: int = 0,
    as_published: bool = False,
    progress: Callable[[SizeStep], None] = lambda step: None,
) -> Sanitised:
    """Expand all trees one split at a time as long as the table sanitised for them meets every demand.

    ``columns`` are the quasi-identifiers, which are also what the trees are grown on; no value may be missing.
    Sizes below ``start`` splits are left out.

    Raises:
        LearnerError: the learner does not fit the response, or grows no tree from these columns.
    """
    grown = tuple(job.learner.growth(columns, job.response, max_splits) for job in jobs)
    run = _Sanitising(columns, jobs, sensitive, demands, as_published, grown)
    best: SanitisedTable | None = None
    steps: list[SizeStep] = []
    for splits in range(start, max_splits + 1):
        try:
            trees = tuple(grown.tree(splits) for grown in run.grown)
        except LearnerError as error:
            return Sanitised(best, tuple(steps), str(error))
        if best is not None and [len(t.nodes) for t in trees] == [len(t.nodes) for t in best.trees]:
            return Sanitised(best, tuple(steps), "no tree has another split to offer")
        candidate = run.candidate(splits, trees)
        steps.append(candidate.step)
        progress(candidate.step)
        if candidate.step.lack or (candidate.step.problems and not as_published):
            return Sanitised(best, tuple(steps), _reason(candidate.step))
        best = candidate
    return Sanitised(best, tuple(steps), f"{max_splits} splits are as many as were asked for")


def _reason(step: SizeStep) -> str:
    if step.lack:
        return f"with {step.size}: {step.lack}"
    first = step.problems[0]
    return f"with {step.size} the same tree does not grow again ({first.condition}: {first.words})"


@dataclass(frozen=True, slots=True)
class _Sanitising:
    """The inputs, and the trees grown from the original records."""

    columns: Columns
    jobs: Sequence[Job]
    sensitive: CategoricalColumn
    demands: Sequence[GroupRequirement]
    as_published: bool
    grown: tuple[GrownByLearner, ...]

    def candidate(self, splits: int, trees: tuple[Tree, ...]) -> SanitisedTable:
        """Return the table sanitised for these trees, with what it lacks."""
        sets = [grown.learner.set_attributes or () for grown in self.grown]
        splits_by_attribute = splits_of_trees(trees, self.columns, len(self.sensitive), sets)
        single = any(job.learner.single for job in self.jobs)
        sanitised_attributes = generalise(
            self.columns, splits_by_attribute, as_published=self.as_published, single=single
        )
        groups = grouped(sanitised_attributes.columns, self.sensitive)
        lacking = (demand.lack(groups) for demand in self.demands)
        lack = next((words for words in lacking if words), "")
        broken_conditions = list(
            problems(self.columns, sanitised_attributes.columns, trees, splits_by_attribute)
        )
        rebuilt = tuple(renamed(tree, sanitised_attributes.names) for tree in trees)
        if not lack:
            rebuilt, different = self._rebuilt(splits, sanitised_attributes.columns, rebuilt)
            broken_conditions += different
        step = SizeStep(
            splits=splits,
            leaves=tuple(len(tree.leaves) for tree in trees),
            ties=tuple(grown.tied(splits) for grown in self.grown),
            k=groups.k,
            groups=len(groups.sizes),
            largest_share=groups.largest_share,
            anchored=sanitised_attributes.anchored,
            problems=tuple(broken_conditions),
            lack=lack,
        )
        return SanitisedTable(step, sanitised_attributes.columns, rebuilt, groups)

    def _rebuilt(
        self, splits: int, columns: Columns, trees: tuple[Tree, ...]
    ) -> tuple[tuple[Tree, ...], list[BrokenCondition]]:
        """Grow the trees again from sanitised records; return them, and how they differ."""
        rebuilt: list[Tree] = []
        different: list[BrokenCondition] = []
        for grown, job, tree in zip(self.grown, self.jobs, trees, strict=True):
            try:
                again = grown.learner.growth(columns, job.response, splits).tree(splits)
            except LearnerError as error:
                return trees, [BrokenCondition("same tree", str(error))]
            rebuilt.append(again)
            different += differences(tree, again, grown.learner.slack)
        return tuple(rebuilt), different
