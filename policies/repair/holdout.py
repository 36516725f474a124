"""Records that a model was not grown on, and what its predictions for them are expected to lose."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.population.forest import said_by
from treewarden.audit.population.target import label_of
from treewarden.audit.reading import Reading, Undetermined, exactly
from treewarden.policies.repair.utility import UtilityName
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.matching import matched, target_in
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tables.taxonomy import Taxonomies
from treewarden.ppdm_models.tree.column import Column, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Task,
    Tree,
)


@dataclass(frozen=True, slots=True)
class Holdout:
    """N records: their attributes, and what a model should have said of each.

    ``truth`` has shape (N,): codes into the model's classes, -1 for a value that is none; for regression the number.
    """

    columns: Mapping[str, Column]
    truth: FloatArray

    def loss(self, model: Model) -> Reading:
        """Return the expected loss of a model over the same attributes.

        That is the share of records predicted wrong (0-1 loss); for regression the mean squared error.
        """
        said = self._told(model)
        if isinstance(said, Undetermined):
            return said
        if model.task is Task.CLASSIFICATION:
            return exactly(float(np.mean((said != self.truth) | (said < 0))))
        if np.isnan(said).any():
            return Undetermined("some leaf predicts nothing")
        return exactly(float(np.mean((said - self.truth) ** 2)))

    def _told(self, model: Model) -> FloatArray | Undetermined:
        """Return what each record is told, shape (N,), as ``truth`` has it."""
        if isinstance(model, Ensemble):
            said = said_by(model, self.columns)
            if isinstance(said, Undetermined):
                return said
            codes = {name: float(code) for code, name in enumerate(model.classes)}
            nothing = -1.0 if model.task is Task.CLASSIFICATION else np.nan
            return np.array(
                [nothing if s is None else codes[s] if isinstance(s, str) else s for s in said]
            )
        stops = route(model, self.columns)
        if (stops < 0).any():
            return Undetermined(f"{int((stops < 0).sum())} records of the holdout fall in no leaf")
        return np.array([_node_prediction(model, node) for node in model.nodes])[stops]


def holdout_of(tree: Model, table: Table, target: str = "") -> Holdout:
    """Return the records of a table as the model sees them; ``target`` is the column it predicts, if it names none.

    Raises:
        TableError: the table is empty, lacks a column, or does not say what the model predicts.
    """
    used = _used(tree)
    names = matched(
        tree,
        table,
        sensitive=target_in(tree, table) or target or None,
        qi=[feature.name for feature in used],
    )
    table, target = names.table, names.sensitive or ""
    if not target:
        raise TableError(table.source, "the model does not name its target; add --sensitive COLUMN")
    if not table.rows:
        raise TableError(table.source, "it has no records; give records that were held out")
    columns = {feature.name: table.column(feature) for feature in used}
    numeric = tree.task is Task.REGRESSION
    truth = table.column(Feature(target, numeric, () if numeric else tree.classes))
    if truth.missing.any():
        row = int(np.flatnonzero(truth.missing)[0]) + 1
        raise TableError(
            table.source, f"column {target!r}, record {row}: no value; leave such records out"
        )
    if not columns:  # a tree of one node asks nothing
        columns = {target: truth}
    if isinstance(truth, NumericColumn):
        return Holdout(columns, truth.numbers)
    if not set(truth.categories) & set(tree.classes):
        have = ", ".join(map(repr, tree.classes[:12]))
        problem = f"column {target!r} has no class of the tree, such as {have}"
        raise TableError(
            table.source, f"{problem}; give records with the column that the model predicts"
        )
    code = {name: number for number, name in enumerate(tree.classes)}
    codes = np.array([code.get(name, -1) for name in truth.categories], dtype=np.float64)
    return Holdout(columns, codes[truth.codes])


def _used(model: Model) -> tuple[Feature, ...]:
    """Return the features that are tested; of an ensemble all, as whether a part speaks is a test too."""
    return model.used_features() if isinstance(model, Tree) else model.features


def _node_prediction(tree: Tree, node: Node) -> float:
    """Return what a node predicts: the code of a class (-1: none), or a number (NaN: none)."""
    if tree.task is Task.CLASSIFICATION:
        label = label_of(tree, node)
        return -1.0 if label is None else float(label)
    return float("nan") if node.score is None else float(node.score)


# What a repair may use beyond the model and its people.


@dataclass(frozen=True, slots=True)
class Given:
    """What a repair may use beyond the model and its people.

    ``taxonomies`` are hierarchies of values that remedies may merge by; ``table`` holds the records where they are to
    be published beside the tree; ``holdout`` is what the loss is measured on. ``bases`` are the widths of bands that
    numbers are given in, in records (empty: those that ``redact`` knows). ``trees_alone`` says that the changed model
    is written in another format than the original: nothing that stands beside the trees comes along. ``utility`` is
    what changes are compared by, cross-validated where that can be told.
    """

    taxonomies: Taxonomies = field(default_factory=dict)
    table: Table | None = None
    holdout: Holdout | None = None
    bases: tuple[int, ...] = ()
    trees_alone: bool = False
    utility: UtilityName = "accuracy"


# When a search has to end: a reading of a clock that whoever starts it chooses.


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment ``end`` on a ``clock`` in seconds; infinite where there is no limit."""

    end: float = math.inf
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """Return the deadline so many seconds from now; None for no limit."""
        return cls(math.inf if seconds is None else clock() + seconds, clock)

    @property
    def left(self) -> float:
        """Seconds that are left; infinite where there is no limit."""
        return max(self.end - self.clock(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.clock() >= self.end


NO_LIMIT = Deadline()
"""As long as it takes."""
