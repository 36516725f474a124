"""Reconstruction by a model's file alone: what it proves of its training records, or why that kind cannot be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.population.file_only_population import ROWS_BESIDE_WEIGHTS
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import (
    BEST_SPLITS,
    BOUNDED,
    EQUAL_WEIGHTS,
    HALF_WAY,
    MOST_POINTS,
    ONLY_CLASSES,
    SAMPLED,
    TOO_MANY,
    DomainCells,
    NodeRecords,
    compares_all,
    coverage_of,
    divides_weights,
    find_cells,
    may_search_values,
    records_by_class,
)
from treewarden.audit.reconstruction.domain import DeclaredDomain, Domain, find_domain
from treewarden.audit.reconstruction.problem import (
    CellRows,
    ThresholdFacts,
    read_counts,
    read_thresholds,
    rows_of,
)
from treewarden.audit.reconstruction.proved import ProvedCounts, prove_counts
from treewarden.audit.reconstruction.result import Reconstruction
from treewarden.ppdm_models.semantics.support import REASONS
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.plain_splits import is_inner
from treewarden.ppdm_models.tree.tree import Quality, Task, Tree

if TYPE_CHECKING:
    from treewarden.audit.reconstruction.boosted import KnownTraining
    from treewarden.audit.reconstruction.single_values import SingleValues

NOTHING_PUBLIC = DeclaredDomain()
THRESHOLD_SHARE = 0.2
"""Of the time there is, thresholds are read for no more."""
NOISY = Undetermined("its numbers are random, so they prove nothing about any record")
OTHER_ORDER = Undetermined("its trees name their classes in different orders")
OF_NUMBERS = Undetermined("proofs of records are not computed for models that predict a number")


def reconstruct(
    model: Model,
    until: Clock,
    declared: DeclaredDomain = NOTHING_PUBLIC,
    training: KnownTraining | None = None,
    *,
    uses_thresholds: bool = True,
    seeks_values: bool = True,
) -> Reconstruction | Undetermined:
    """Return which records every table has that fits the file of a model, or why that cannot be told.

    ``training`` is what an adversary knows of how a boosted model was trained, beside the file. Thresholds are used
    where the file names a learner that cuts half way between two records, unless they contradict the counts.
    ``seeks_values`` asks too which single values of cells its rules prove, where the domain is small.

    Raises:
        PublicDomainError: what is declared does not fit the model.
    """
    trees = tuple(trees_of(model))
    reason = _why_not(model, trees)
    if reason is SAMPLED and isinstance(model, Ensemble):
        return _of_samples(model, trees, until, declared)
    if reason is not None:
        return reason
    if isinstance(model, Ensemble) and model.growth is not None:
        return _of_boosted(model, trees, until, declared, training)
    leaves = read_counts(trees)
    if isinstance(leaves, Undetermined):
        return leaves
    domain = find_domain(trees, declared)
    if isinstance(domain, Undetermined):
        return domain
    cells = _find_cells(trees, leaves, domain, declared, until)
    if isinstance(cells, Undetermined):
        return cells
    if cells.least is not None:
        return _of_some_cells(model, trees, leaves, cells, declared)
    is_asked = uses_thresholds and seeks_values
    values = _single_values(trees, leaves, cells, declared, until) if is_asked else None
    thresholds = None
    if uses_thresholds:
        share = until.share(THRESHOLD_SHARE)
        thresholds = read_thresholds(trees, leaves, cells, declared, share)
    found = _proved(trees, leaves, cells, thresholds, until)
    if isinstance(found, Undetermined) and thresholds is not None:
        thresholds = values = None
        found = _proved(trees, leaves, cells, None, until)
    if isinstance(found, Undetermined):
        return found
    rows, proved = found
    return replace(
        _of_counts(model, leaves, cells, declared, rows=rows, counts=proved),
        assumed=_assumed(trees, thresholds, values),
        narrowed={} if thresholds is None else thresholds.is_known,
        values=values,
    )


def _of_counts(
    model: Model,
    leaves: Sequence[NodeRecords],
    cells: DomainCells,
    declared: DeclaredDomain,
    rows: CellRows,
    counts: ProvedCounts,
) -> Reconstruction:
    trees = tuple(trees_of(model))
    classes = trees[0].classes
    return Reconstruction(
        cells=cells,
        rows=rows,
        counts=counts,
        classes=classes if leaves[0].counts.shape[1] == len(classes) else (),
        columns=_columns(model, cells.domain),
        target=model.target,
        records=_records(leaves),
        may_weigh=not all(map(_counts_rows, trees)),
        assumed=_assumed(trees, None, None),
        coverage=coverage_of(cells.domain, declared, cells.method),
    )


def _single_values(
    trees: Sequence[Tree],
    leaves: Sequence[NodeRecords],
    cells: DomainCells,
    declared: DeclaredDomain,
    until: Clock,
) -> SingleValues | None:
    if (
        not declared.columns
        or until.is_over
        or not may_search_values(trees, cells.domain, cells.sizes)
    ):
        return None
    from treewarden.audit.reconstruction.single_values import prove_single_values  # loads facts

    return prove_single_values(trees, leaves, cells, declared, until)


GENERATING_SHARE = 0.8
"""Of the time there is, cells of a domain that cannot be listed are searched for no more."""
FEWEST_SECONDS = 5.0
"""With less time cells are not searched for one by one."""


def _find_cells(
    trees: Sequence[Tree],
    leaves: Sequence[NodeRecords],
    domain: Domain,
    declared: DeclaredDomain,
    until: Clock,
) -> DomainCells | Undetermined:
    """Return the cells of a domain, one by one where nobody can list them and somebody declared what is public."""
    cells = find_cells(trees, leaves, domain, until)
    is_asked = any(not column.is_seen for column in declared.columns.values())
    if cells is not TOO_MANY or not is_asked or until.left < FEWEST_SECONDS:
        return cells
    from treewarden.audit.reconstruction.generated_cells import generate_cells  # loads solvers

    try:
        return generate_cells(trees, leaves, domain, until.share(GENERATING_SHARE))
    except ContradictionError as contradiction:
        return Undetermined("; ".join(contradiction.says))


SOME_CELLS = "there may be records with other combinations of values than those that were looked at"


def _of_some_cells(
    model: Model,
    trees: Sequence[Tree],
    leaves: Sequence[NodeRecords],
    cells: DomainCells,
    declared: DeclaredDomain,
) -> Reconstruction | Undetermined:
    """Return what is proved of cells beside which others may have records too."""
    rows = rows_of(trees, leaves, cells)
    if isinstance(rows, Undetermined):
        return rows
    assert cells.least is not None
    low, high = cells.least, rows.most
    counts = ProvedCounts(
        low=low,
        high=high,
        shown_low=high,
        shown_high=low,
        table=None,
        tables=None,
        filled=None,
        left=(SOME_CELLS,),
    )
    return _of_counts(model, leaves, cells, declared, rows=rows, counts=counts)


def _proved(
    trees: Sequence[Tree],
    leaves: Sequence[NodeRecords],
    cells: DomainCells,
    thresholds: ThresholdFacts | None,
    until: Clock,
) -> tuple[CellRows, ProvedCounts] | Undetermined:
    """Return the rows of a file and what they prove, or that no table fulfils them."""
    try:
        rows = rows_of(trees, leaves, cells, thresholds)
        if isinstance(rows, Undetermined):
            return rows
        return rows, prove_counts(rows, cells.sizes, until)
    except ContradictionError as contradiction:
        return Undetermined("; ".join(contradiction.says))


def _of_samples(
    model: Ensemble, trees: Sequence[Tree], until: Clock, declared: DeclaredDomain
) -> Reconstruction | Undetermined:
    """Return what a forest proves whose seeds say which records each tree drew, or why nothing can be said."""
    if model.sampling.bootstrap is None or model.task is Task.REGRESSION:
        return SAMPLED
    from treewarden.audit.reconstruction.drawn_records import (  # for forests that publish seeds
        OTHER_DRAWS,
        SEEDED,
        prove_drawn,
        read_samples,
    )

    samples = read_samples(trees, model.sampling)
    if samples is None:
        return SAMPLED
    if isinstance(samples, Undetermined):
        return samples
    domain = find_domain(trees, declared)
    if isinstance(domain, Undetermined):
        return domain
    try:
        found = prove_drawn(trees, samples, domain, until)
    except ContradictionError:
        return OTHER_DRAWS
    if isinstance(found, Undetermined):
        return found
    cells, counts = found
    is_unweighted = model.sampling.bootstrap.is_unweighted
    return Reconstruction(
        cells=cells,
        rows=None,
        counts=counts,
        classes=model.classes,
        columns=_columns(model, domain),
        target=model.target,
        records=model.sampling.bootstrap.records,
        assumed=(SEEDED,) + (EQUAL_WEIGHTS,) * (not is_unweighted),
        coverage=coverage_of(domain, declared, cells.method),
        samples=tuple(samples),
    )


def _of_boosted(
    model: Ensemble,
    trees: Sequence[Tree],
    until: Clock,
    declared: DeclaredDomain,
    training: KnownTraining | None,
) -> Reconstruction | Undetermined:
    """Return what the leaf values of a boosted model prove, or why they prove nothing."""
    from treewarden.audit.reconstruction.boosted import (  # for leaves that publish sums
        MOST_ROUTED,
        NO_TABLE,
        TOO_LARGE,
        KnownTraining,
        leaves_of_growth,
        prove_sums,
    )

    assert model.growth is not None
    domain = find_domain(trees, declared)
    if isinstance(domain, Undetermined):
        return domain
    if domain.points <= MOST_POINTS and domain.points * len(trees) > MOST_ROUTED:
        return TOO_LARGE
    leaves = leaves_of_growth(model.growth, max(len(model.classes), 2))
    cells = find_cells(trees, leaves, domain, until)
    if isinstance(cells, Undetermined):
        return cells
    try:
        known = KnownTraining() if training is None else training
        proved = prove_sums(model, trees, cells, until, known)
    except ContradictionError:
        return NO_TABLE
    if isinstance(proved, Undetermined):
        return proved
    low, high = proved.counts.low, proved.counts.high
    return Reconstruction(
        cells=cells,
        rows=proved.rows,
        counts=proved.counts,
        classes=model.classes if low.shape[1] > 1 else (),
        columns=_columns(model, domain),
        target=model.target,
        records=int(low.sum()) if (low == high).all() else proved.records,
        assumed=proved.assumed,
        coverage=coverage_of(domain, declared, cells.method),
    )


def _columns(model: Model, domain: Domain) -> tuple[str, ...]:
    """Return the names of all columns, those without any test too."""
    tested = [name for factor in domain.factors for name in factor.columns]
    return tuple(dict.fromkeys([*(feature.name for feature in model.features), *tested]))


def _records(leaves: Sequence[NodeRecords]) -> int | None:
    """Return how many records there are, None where no root says it."""
    roots = [leaf_counts.counts[0].sum() for leaf_counts in leaves]
    return next((int(records) for records in roots if not np.isnan(records)), None)


def _why_not(model: Model, trees: Sequence[Tree]) -> Undetermined | None:
    if not trees:
        return Undetermined("the model holds no tree")
    if isinstance(model, Ensemble):
        if model.growth is not None:
            return OF_NUMBERS if model.task is Task.REGRESSION else None
        if next(iter(model.others), None) is not None:
            return Undetermined("parts of the model are not trees")
    if any(tree.learner.saw_noise for tree in trees):
        return NOISY
    if any(tree.classes != trees[0].classes for tree in trees):
        return OTHER_ORDER
    if any(tree.classes and tree.learner.bounds_shares for tree in trees):
        return BOUNDED
    if isinstance(model, Ensemble) and model.sampling.resampled is not False:
        return SAMPLED
    worst = next((t for t in trees if not (t.has_people or divides_weights(t))), None)
    return None if worst is None else Undetermined(REASONS[worst.quality])


def _counts_rows(tree: Tree) -> bool:
    """Whether the format says rows beside weights, so that a count is a number of records."""
    is_exact = tree.quality is Quality.EXACT or divides_weights(tree)
    return is_exact and tree.format in ROWS_BESIDE_WEIGHTS


WHOLE_WEIGHTS = "no record has a weight that is not a whole number"
SEEN_WEIGHTS = "no record has a weight of 0 or less, or one that is too small to show"
SAME_RECORDS = "all trees were trained on the same records"


def _supposed_weights(trees: Sequence[Tree]) -> tuple[str, ...]:
    """Return what proofs by counts suppose of the weights of records, where the file leaves that open.

    Where a format says rows beside weights, and both agree in each leaf, weights within a leaf may still add up to its
    rows by chance or by calibration, and move its class counts. Only a leaf of one class, and one in which each record
    has another class, has the same counts whatever the weights, if these are
    positive and not so small that they are lost in rounding.
    """
    if not all(map(_counts_rows, trees)):
        return (WHOLE_WEIGHTS,)
    if any(map(divides_weights, trees)):
        return (ONLY_CLASSES,)
    sums = np.concatenate([records_by_class(tree)[~is_inner(tree)] for tree in trees])
    present = (sums > 0).sum(axis=1)
    is_told = np.all((present == 1) | (present == sums.sum(axis=1)) | np.isnan(sums).any(axis=1))
    return (SEEN_WEIGHTS,) if is_told else (EQUAL_WEIGHTS,)


def _assumed(
    trees: Sequence[Tree], thresholds: ThresholdFacts | None, values: SingleValues | None
) -> tuple[str, ...]:
    """Return what proofs suppose beside the file; weights would have decided its splits too."""
    learned = (HALF_WAY,) * (thresholds is not None or values is not None)
    weights = (*_supposed_weights(trees), *((SAME_RECORDS,) * (len(trees) > 1)))
    if values is None or not any(map(compares_all, trees)):
        return (*learned, *weights)
    return (*learned, BEST_SPLITS, *dict.fromkeys((*weights, EQUAL_WEIGHTS)))


NOT_ASKED = Undetermined("proofs of records were not searched for")
