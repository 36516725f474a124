"""The sanitised table that a repair publishes beside its tree, as a file from which that tree was seen to grow."""

from __future__ import annotations

from pathlib import Path

from treewarden.jobs.sanitizing import Subject, Wanted, grown_from, table_bytes
from treewarden.policies.pack import Pack
from treewarden.policies.remedies._table import TableProposal
from treewarden.ppdm_models.errors import RemedyError
from treewarden.ppdm_models.learn.best_first import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.methods.tpp.sanitise import Job
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.tree import Tree


def table_beside(tree: Tree, data: Path, pack: Pack, proposal: TableProposal) -> bytes:
    """Return the table that goes with a proposal for a tree grown on ``data``.

    Raises:
        RemedyError: a value is missing, which no file of this form says, or the tree does not grow from the file.
    """
    best = proposal.sanitised
    for name, column in best.columns.items():
        if column.missing.any():
            problem = f"column {name!r} lacks values; use “treewarden sanitize”, which makes them a category"
            raise RemedyError(data.name, problem)
    table = matched(tree, read_table(data), sensitive=tree.target).table
    target = table.categories(tree.target, tree.classes)
    learner = BestFirst(
        str(tree.learner.criterion),
        bool(tree.learner.multiway),
        tree.learner.min_leaf_records,
        max_depth=tree.depth,
    )
    job = Job(learner, of_classes(tree.target, target.codes, target.categories))
    wanted = Wanted(data, (tree.target,), tree.target, tuple(best.columns), None, None, pack)
    subject = Subject(wanted, best.columns, (job,), target)
    written = table_bytes(subject, best)
    if grown_from(written, subject, best):
        raise RemedyError(data.name, "the tree does not grow again from the table as written")
    return written
