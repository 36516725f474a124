"""The trees of a model and the people in them: where everybody stops in each tree, and the leaves of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np

from treewarden.audit.population.leaves import Leaves, NodeCounts, leaves_at, leaves_of, whole_of
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import check_counts, count_gaps, has_sums
from treewarden.audit.progress import Share
from treewarden.audit.reading import Reading, Undetermined, exactly
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.routing import NOWHERE
from treewarden.ppdm_models.tree.column import Columns
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.plain_splits import is_inner, totals_of, where_of
from treewarden.ppdm_models.tree.tree import Quality, Task, Tree

DRAWS = (
    "the counts in the file refer to a bootstrap sample: a record drawn twice counts "
    "twice, so they are not numbers of people"
)

HELD_OUT = (
    "some training records were held out for early stopping. The counts in the file refer "
    "to the others, and it is not known which these are"
)

ADDITIVE = Undetermined(
    "an additive model has no leaves: only its claim of differential privacy is judged (metric epsilon)"
)
ONE_TREE = Undetermined("a single tree: its leaves say what it predicts")

Array = TypeVar("Array", IndexArray, FloatArray)


def draw_bootstrap(seed: int, records: int, drawn: int) -> IntArray:
    """Return how often a bootstrap sample of so many draws has each record, (n,), as scikit-learn draws from a seed.

    See ``_generate_sample_indices`` in ``sklearn/ensemble/_forest.py``.
    """
    chosen = np.random.RandomState(seed).randint(0, records, drawn)
    return np.asarray(np.bincount(chosen, minlength=records), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Forest:
    """A model over a table: its trees, one where it is no ensemble, and the people in them.

    ``stops`` has shape (T, P): the node where each profile stops in each tree, negative where a tree has nothing to say
    of a profile. ``shown`` is the tree that is drawn: the one with the smallest leaf, the first of several.
    ``accuracy`` is the share of the table's records that all trees together predict right. ``draws`` says that the
    counts may be draws of a sample.
    """

    model: Model
    trees: tuple[Tree, ...]
    stops: IndexArray
    leaves: Leaves | Undetermined
    shown: int = 0
    accuracy: Reading = ONE_TREE
    warnings: tuple[str, ...] = ()
    draws: bool = False

    @property
    def drawn(self) -> Tree:
        """The tree that is drawn."""
        return self.trees[self.shown]

    @property
    def is_ensemble(self) -> bool:
        """Whether the model is an ensemble, of however many trees."""
        return isinstance(self.model, Ensemble)

    def node_name(self, tree: int, node: int) -> str:
        """Return what places call a node, with its tree where the model is an ensemble."""
        number = f"tree {tree + 1}: " if self.is_ensemble else ""
        return f"{number}{self.trees[tree].nodes[node].name}"


def forest_of(
    model: Model,
    population: Population,
    source: str = "the table",
    share: Share | None = None,
    jobs: int | None = 1,
) -> Forest:
    """Send the people through every tree; ``source`` names their table, ``share`` is told how many trees are done.

    Those of several are shared out among so many ``jobs`` (None: as many as there is room for), where it is worth it.

    Raises:
        TableError: a record falls in no leaf of any tree, or a tree counts people and the table holds others.
    """
    if isinstance(model, Ensemble):
        return _of_ensemble(model, population, source, share, jobs)
    stops = np.asarray(population.leaf)[None, :]
    return Forest(model, (model,), stops, leaves_of(model, population))


def _of_ensemble(
    ensemble: Ensemble, population: Population, source: str, share: Share | None, jobs: int | None
) -> Forest:
    trees = tuple(ensemble.trees)
    if not trees:
        raise TableError(ensemble.source, "the model holds no tree")
    from treewarden.audit.population.routing import refused_profiles, sent  # as above

    stops, standing = sent(ensemble, population, share, jobs)
    is_lost = population.counts > 0
    for stopped in stops:
        is_lost = is_lost & (stopped == NOWHERE)
        if not is_lost.any():
            break
    lost = np.flatnonzero(is_lost)
    if len(lost):
        who = population.describe(int(lost[0]))
        raise TableError(
            source,
            (
                f"the record {who} reaches no leaf of any tree; check that the table has the columns "
                "and units of the training"
            ),
        )
    refused = np.flatnonzero(refused_profiles(ensemble, population) & (population.counts > 0))
    if len(refused):
        who = population.describe(int(refused[0]))
        raise TableError(
            source,
            (
                f"a tree of the model rejects the record {who}: a value is invalid, or a field cannot "
                "be computed; give the table that the model was trained on"
            ),
        )
    draws, warnings = _draws(ensemble, trees, standing, population, source)
    leaves = _leaves(ensemble, trees, standing, population, draws)
    shown = 0
    if isinstance(leaves, Leaves):
        shown = int(leaves.trees[leaves.records.argmin()])
    return Forest(
        model=ensemble,
        trees=trees,
        stops=stops,
        leaves=leaves,
        shown=shown,
        accuracy=ADDITIVE
        if ensemble.is_additive
        else accuracy_of(ensemble, population, said_by(ensemble, population.columns, stops)),
        warnings=tuple(warnings),
        draws=draws,
    )


def _draws(
    ensemble: Ensemble,
    trees: tuple[Tree, ...],
    standing: Sequence[NodeCounts],
    population: Population,
    source: str,
) -> tuple[bool, list[str]]:
    """Return whether the published counts may be draws, and what to say about it.

    Raises:
        TableError: the file says that they are people, and the table holds others; or a leaf that the file says was
            reached holds nobody, which no sample of the table explains.
    """
    _check_reached(trees, standing, source)
    weighed = population.weight is not None
    counting = [
        index
        for index, tree in enumerate(trees)
        if (has_sums(tree) if weighed else tree.has_people)
    ]
    if not counting:
        return False, []
    if ensemble.sampling.resampled:
        if ensemble.sampling.held_out:
            _check_room(trees, standing, source)
        said = sample_in_words(ensemble)
        return True, [f"{ensemble.source}: {said}. Leaves were measured on the table"]
    if ensemble.sampling.resampled is False:
        for index in counting:
            here = standing[index]
            check_counts(trees[index], here.people, here.weighed, population.weights, source)
        return False, []
    other = [
        index + 1
        for index in counting
        if count_gaps(trees[index], _counted(standing[index]), weighed=weighed)
    ]
    if not other:
        return False, []
    some = ", ".join(str(number) for number in islice(other, 5)) + (", ..." if other[5:] else "")
    said = (
        f"{ensemble.source}: the counts of {len(other)} of {len(trees)} trees ({some}) are not those of the table, as "
        "if they were of a random sample; leaves are measured on the table"
    )
    return True, [said]


def sample_in_words(model: Model) -> str:
    """Return why counts of a model's trees, which are of a sample, are no numbers of people of the table."""
    return HELD_OUT if isinstance(model, Ensemble) and model.sampling.held_out else DRAWS


def _check_room(trees: tuple[Tree, ...], standing: Sequence[NodeCounts], source: str) -> None:
    """Check that no leaf counts more records than the table has there, where each counts once at most.

    Raises:
        TableError: one does, so the table is not the one that the trees were trained on.
    """
    for index, (tree, here) in enumerate(zip(trees, standing, strict=True)):
        if here.spread or here.weighed is not None or not tree.has_people:
            continue
        over = np.flatnonzero(~is_inner(tree) & (totals_of(tree) > here.people))
        if len(over):
            leaf = int(over[0])
            raise TableError(
                source,
                f"{where_of(tree, leaf)} (tree {index + 1}) counts {totals_of(tree)[leaf]:,.0f} records, but only "
                f"{here.people[leaf]:,.0f} of this table fall there; give the table that the trees were trained on",
            )


def _counted(here: NodeCounts) -> FloatArray:
    return here.people if here.weighed is None else here.weighed


def _check_reached(trees: tuple[Tree, ...], standing: Sequence[NodeCounts], source: str) -> None:
    """Check that somebody of the table is in each leaf that a record reached in training, drawn and weighed or not.

    Raises:
        TableError: a leaf holds nobody, so the table is not the one that the trees were trained on.
    """
    for index, (tree, here) in enumerate(zip(trees, standing, strict=True)):
        if here.spread or not (has_sums(tree) or tree.quality is Quality.HESSIAN):
            continue
        empty = np.flatnonzero((here.people == 0) & ~is_inner(tree) & (totals_of(tree) > 0))
        if len(empty):
            leaf = where_of(tree, int(empty[0]))
            raise TableError(
                source,
                f"{leaf} (tree {index + 1}) was reached in training, but nobody of this table falls there; "
                "give the table that the trees were trained on, its columns in the same order and units",
            )


def _leaves(
    ensemble: Ensemble,
    trees: tuple[Tree, ...],
    standing: Sequence[NodeCounts],
    population: Population,
    draws: bool,
) -> Leaves | Undetermined:
    """Return the leaves of all trees, in the file's order."""
    if ensemble.is_additive:
        return ADDITIVE
    found: list[tuple[int, Leaves]] = []
    whole = whole_of(population)
    for index, (tree, here) in enumerate(zip(trees, standing, strict=True)):
        if here.spread:
            return Undetermined(
                f"tree {index + 1} spreads {here.spread:g} records with missing values over several leaves"
            )
        leaves = leaves_at(tree, here, whole)
        if isinstance(leaves, Leaves):
            found.append((index, leaves))
    if not found:
        return Undetermined("no record stops in any leaf")
    each = [leaves for _, leaves in found]
    return Leaves(
        nodes=np.concatenate([leaves.nodes for leaves in each]),
        records=np.concatenate([leaves.records for leaves in each]),
        classes=joined([leaves.classes for leaves in each]),
        labels=joined([_in_order(ensemble, trees[index], leaves) for index, leaves in found]),
        published=Undetermined(sample_in_words(ensemble))
        if draws
        else joined([leaves.published for leaves in each]),
        trees=np.repeat(
            np.array([index for index, _ in found], dtype=np.intp),
            [len(leaves.nodes) for leaves in each],
        ),
        whole=whole.classes,
        weighed=_joined_sums([leaves.weighed for leaves in each]),
        weighed_whole=whole.weighed,
    )


def joined(parts: list[Array | Undetermined]) -> Array | Undetermined:
    """Return the parts one after the other, or why one of them is not known."""
    known: list[Array] = []
    for part in parts:
        if isinstance(part, Undetermined):
            return part
        known.append(part)
    return np.concatenate(known)


def _joined_sums(parts: list[FloatArray | None]) -> FloatArray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _in_order(ensemble: Ensemble, tree: Tree, leaves: Leaves) -> IndexArray | Undetermined:
    """Return the labels as codes into the ensemble's classes, which a tree may have in another order."""
    if isinstance(leaves.labels, Undetermined) or tree.classes == ensemble.classes:
        return leaves.labels
    if not set(tree.classes) <= set(ensemble.classes):
        return Undetermined(f"{tree.source}: a tree has classes that the whole model has not")
    codes = np.array([ensemble.classes.index(name) for name in tree.classes], dtype=np.intp)
    return codes[leaves.labels]


def said_by(
    ensemble: Ensemble, columns: Columns, stops: IndexArray | None = None
) -> list[str | float | None] | Undetermined:
    """Return what the whole model predicts for each record, a class or a number (None: nothing), or why not.

    ``stops`` (T, n) says where the records stop in each tree, where that is known.
    """
    from treewarden.ppdm_models.tables.predict import labels, predict  # of several trees only

    try:
        scores = predict(ensemble, columns, stops)
    except (KeyError, ValueError) as error:
        return Undetermined(f"the whole model was not evaluated ({error})")
    if ensemble.task is not Task.CLASSIFICATION:
        if scores.shape[1] != 1:
            return Undetermined("the whole model predicts several numbers")
        return [None if np.isnan(score) else float(score) for score in scores[:, 0]]
    if scores.shape[1] != len(ensemble.classes):
        return Undetermined("the whole model gives another number of scores than it has classes")
    return list(labels(ensemble, scores))


def accuracy_of(
    ensemble: Ensemble,
    population: Population,
    predictions: Sequence[str | float | None] | Undetermined,
) -> Reading:
    """Return the share of records whose class the whole model predicts; ``predictions`` are what ``said_by`` gives."""
    truth = population.truth
    if ensemble.task is not Task.CLASSIFICATION:
        return Undetermined("the model predicts a number, not a class")
    if isinstance(truth, Undetermined):
        return truth
    if isinstance(predictions, Undetermined):
        return predictions
    codes: dict[str | float | None, int] = {name: k for k, name in enumerate(ensemble.classes)}
    right = sum(truth[row, codes[name]] for row, name in enumerate(predictions) if name is not None)
    return exactly(float(right) / float(truth.sum()))
