"""What a model of any kind proves of its records by its file alone, and why that cannot be told of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError
from treewarden.audit.population.file_only_population import ROWS_BESIDE_WEIGHTS
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import NodeRecords, find_cells
from treewarden.audit.reconstruction.domain import DeclaredDomain, Domain, find_domain
from treewarden.audit.reconstruction.problem import read_counts, rows_of
from treewarden.audit.reconstruction.proved import prove_counts
from treewarden.audit.reconstruction.result import Reconstruction
from treewarden.ppdm_models.semantics.support import REASONS
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.tree import Quality, Tree

NOTHING_PUBLIC = DeclaredDomain()
SAMPLED = Undetermined(
    "each tree saw a sample of the records that is not known, or may have: its counts are no numbers of records"
)
NOISY = Undetermined("its numbers were drawn at random, so that they prove nothing of any record")
OTHER_ORDER = Undetermined("its trees name their classes in different orders")
OF_SUMS = Undetermined("what the leaf values of boosted models prove of records is not worked out")


def reconstruct(
    model: Model, until: Clock, declared: DeclaredDomain = NOTHING_PUBLIC
) -> Reconstruction | Undetermined:
    """Return which records every table has that fits the file of a model, or why that cannot be told.

    Raises:
        PublicDomainError: what is declared does not fit the model.
    """
    trees = tuple(trees_of(model))
    reason = _why_not(model, trees)
    if reason is not None:
        return reason
    leaves = read_counts(trees)
    if isinstance(leaves, Undetermined):
        return leaves
    domain = find_domain(trees, declared)
    if isinstance(domain, Undetermined):
        return domain
    cells = find_cells(trees, leaves, domain, until)
    if isinstance(cells, Undetermined):
        return cells
    try:
        rows = rows_of(trees, leaves, cells)
        if isinstance(rows, Undetermined):
            return rows
        proved = prove_counts(rows, cells.sizes, until)
    except ContradictionError as contradiction:
        return Undetermined("; ".join(contradiction.says))
    has_classes = leaves[0].counts.shape[1] == len(trees[0].classes) and bool(trees[0].classes)
    return Reconstruction(
        cells=cells,
        rows=rows,
        counts=proved,
        classes=trees[0].classes if has_classes else (),
        columns=_columns(model, domain),
        target=model.target,
        records=_records(leaves),
        may_weigh=not all(map(_counts_rows, trees)),
    )


def _columns(model: Model, domain: Domain) -> tuple[str, ...]:
    """Return the names of all columns, those without any test too."""
    tested = [name for factor in domain.factors for name in factor.columns]
    return tuple(dict.fromkeys([*(feature.name for feature in model.features), *tested]))


def _records(leaves: Sequence[NodeRecords]) -> int | None:
    """Return how many records there are, None where no root says it."""
    roots = [
        leaf_counts.counts[0].sum()
        for leaf_counts in leaves
        if not np.isnan(leaf_counts.counts[0]).any()
    ]
    return int(roots[0]) if roots else None


def _why_not(model: Model, trees: Sequence[Tree]) -> Undetermined | None:
    if not trees:
        return Undetermined("the model holds no tree")
    if isinstance(model, Ensemble):
        if model.growth is not None:
            return OF_SUMS
        if next(iter(model.others), None) is not None:
            return Undetermined("parts of the model are no trees")
        if model.sampling.resampled is not False:
            return SAMPLED
    if any(tree.learner.saw_noise for tree in trees):
        return NOISY
    if any(tree.classes != trees[0].classes for tree in trees):
        return OTHER_ORDER
    worst = next((tree for tree in trees if not tree.has_people), None)
    return None if worst is None else Undetermined(REASONS[worst.quality])


def _counts_rows(tree: Tree) -> bool:
    """Whether the format says rows beside weights, so that a count is a number of records."""
    return tree.quality is Quality.EXACT and tree.format in ROWS_BESIDE_WEIGHTS
