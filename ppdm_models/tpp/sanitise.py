"""Tree-pattern-preserving sanitisation (TPP): a table generalised so far that the same tree still grows from it.

Source: the algorithm of Figs. 2 and 4 of "Secrecy Strengthening Concert (Privacy Protection) In Data Mining" (Pavithra,
Thangadurai). Two things differ by default, as the printed step 3 can move thresholds and makes small groups: a number
becomes one value per cell between thresholds (``tpp_cells``), and every size is believed only once the tree has been
built again from the sanitised records. ``as_published`` follows the printed text and only reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.learn.response import Response
from treewarden.ppdm_models.tpp.checks import Problem, differences, problems
from treewarden.ppdm_models.tpp.groups import Demand, Groups, grouped
from treewarden.ppdm_models.tpp.sets import renamed
from treewarden.ppdm_models.tpp.splits import asked
from treewarden.ppdm_models.tpp.values import generalise
from treewarden.ppdm_models.tree.column import CategoricalColumn, Columns
from treewarden.ppdm_models.tree.tree import Tree


class Grown(Protocol):
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

    def growth(self, columns: Columns, response: Response, max_splits: int) -> Grown:
        """Grow a tree of up to so many splits on all columns."""


@dataclass(frozen=True, slots=True)
class Job:
    """One tree to preserve: who grows it, and what it predicts."""

    learner: TreeLearner
    response: Response


@dataclass(frozen=True, slots=True)
class Step:
    """What one size of the trees comes to: ``lack`` is the demand that is not met, ``problems`` what is not kept."""

    splits: int
    leaves: tuple[int, ...]
    ties: tuple[int, ...]
    k: int
    groups: int
    largest_share: float
    anchored: tuple[str, ...]
    problems: tuple[Problem, ...]
    lack: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sanitised table, shape (N,) per column, with the trees grown from it and the groups of its records."""

    step: Step
    columns: Columns
    trees: tuple[Tree, ...]
    groups: Groups


@dataclass(frozen=True, slots=True)
class Sanitised:
    """The largest size that meets every demand (None: not even one value per attribute does), and the way there."""

    best: Candidate | None
    steps: tuple[Step, ...]
    stopped: str


def sanitise(
    columns: Columns,
    jobs: Sequence[Job],
    sensitive: CategoricalColumn,
    demands: Sequence[Demand],
    *,
    max_splits: int,
    start: int = 0,
    as_published: bool = False,
    progress: Callable[[Step], None] = lambda step: None,
) -> Sanitised:
    """Expand all trees one split at a time as long as the table sanitised for them meets every demand.

    ``columns`` are the quasi-identifiers, which are also what the trees are grown on; no value may be missing.
    Sizes below ``start`` splits are left out.

    Raises:
        LearnerError: the learner does not fit the response, or grows no tree from these columns.
    """
    grown = tuple(job.learner.growth(columns, job.response, max_splits) for job in jobs)
    run = _Run(columns, jobs, sensitive, demands, as_published, grown)
    best: Candidate | None = None
    steps: list[Step] = []
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


def _reason(step: Step) -> str:
    if step.lack:
        return f"with {_words(step)}: {step.lack}"
    first = step.problems[0]
    return (
        f"with {_words(step)} the same tree does not grow again ({first.condition}: {first.words})"
    )


def _words(step: Step) -> str:
    return f"{' and '.join(str(count) for count in step.leaves)} leaves"


@dataclass(frozen=True, slots=True)
class _Run:
    """The inputs, and the trees grown from the original records."""

    columns: Columns
    jobs: Sequence[Job]
    sensitive: CategoricalColumn
    demands: Sequence[Demand]
    as_published: bool
    grown: tuple[Grown, ...]

    def candidate(self, splits: int, trees: tuple[Tree, ...]) -> Candidate:
        """Return the table sanitised for these trees, with what it lacks."""
        sets = [grown.learner.set_attributes or () for grown in self.grown]
        said = asked(trees, self.columns, len(self.sensitive), sets)
        single = any(job.learner.single for job in self.jobs)
        made = generalise(self.columns, said, as_published=self.as_published, single=single)
        groups = grouped(made.columns, self.sensitive)
        lacking = (demand.lack(groups) for demand in self.demands)
        lack = next((words for words in lacking if words), "")
        found = list(problems(self.columns, made.columns, trees, said))
        rebuilt = tuple(renamed(tree, made.names) for tree in trees)
        if not lack:
            rebuilt, different = self._rebuilt(splits, made.columns, rebuilt)
            found += different
        step = Step(
            splits,
            tuple(len(tree.leaves) for tree in trees),
            tuple(grown.tied(splits) for grown in self.grown),
            groups.k,
            len(groups.sizes),
            groups.largest_share,
            made.anchored,
            tuple(found),
            lack,
        )
        return Candidate(step, made.columns, rebuilt, groups)

    def _rebuilt(
        self, splits: int, columns: Columns, trees: tuple[Tree, ...]
    ) -> tuple[tuple[Tree, ...], list[Problem]]:
        """Grow the trees again from sanitised records; return them, and how they differ."""
        rebuilt: list[Tree] = []
        different: list[Problem] = []
        for grown, job, tree in zip(self.grown, self.jobs, trees, strict=True):
            try:
                again = grown.learner.growth(columns, job.response, splits).tree(splits)
            except LearnerError as error:
                return trees, [Problem("same tree", str(error))]
            rebuilt.append(again)
            different += differences(tree, again, grown.learner.slack)
        return tuple(rebuilt), different
