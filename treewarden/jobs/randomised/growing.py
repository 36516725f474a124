"""A tree from a randomised table and its manifest: which columns take part, what is checked, what is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treewarden.audit.progress import Step, silent
from treewarden.ppdm_models.errors import LearnerError, ManifestError, TableError, in_role
from treewarden.ppdm_models.methods.randomised.generating import GeneratedAttribute
from treewarden.ppdm_models.methods.randomised.learning import (
    Method,
    Noisy,
    Numbers,
    learn,
    published,
)
from treewarden.ppdm_models.methods.randomised.manifest import (
    Hidden,
    Manifest,
    check_has,
    check_is_of,
    load_manifest,
)
from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, Hiding
from treewarden.ppdm_models.methods.randomised.reconstruction import FEWEST_RECORDS, MOST, Kernel
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.table import Table, listed
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.tree import Tree

# Which columns of a randomised table a tree is grown on, and whether that can be done.

MOST_PARTS = 20_000
"""Classes that values are hidden in."""
WIDEST = 2_000
"""How far noise may reach, in widths of the domain."""


def columns_of(
    table: Table, manifest: Manifest, target: str, requested_columns: tuple[str, ...], where: str
) -> tuple[
    tuple[GeneratedAttribute, ...], dict[str, Numbers], dict[str, Hiding | None], dict[str, str]
]:
    """Return the attributes that take part, their values, their noise, and in words why other columns do not.

    ``requested_columns`` empty: all columns but the target that can be used. ``where`` names the manifest in messages.

    Raises:
        TableError: a column is not there, or holds what is no number.
        LearnerError: a column that is asked for is of no use, or none is left.
        ManifestError: what the manifest says of a column cannot be worked with.
    """
    names = _grown_columns(table, target, requested_columns)
    attributes: list[GeneratedAttribute] = []
    columns: dict[str, Numbers] = {}
    noise: dict[str, Hiding | None] = {}
    unused: dict[str, str] = {}
    for name in names:
        hidden = manifest.column(name)
        if hidden is None and not table.guessed(name).numeric:
            unused[name] = "text, not hidden"
            continue
        values = table.numbers(name).numbers
        attribute = hidden.attribute if hidden else _in_clear(name, values)
        if attribute is None or np.isnan(values).all():
            unused[name] = "fewer than two distinct values"
            continue
        if hidden is not None:
            _check_hidden(hidden, where)
        attributes.append(attribute)
        columns[name], noise[name] = values, hidden.hiding if hidden else None
    if requested_columns and unused:
        name, why = next(iter(unused.items()))
        raise LearnerError(f"column {name!r}", f"{why}; leave it out of --columns")
    if not attributes:
        raise LearnerError(table.source, "no column to train on; choose some with --columns")
    return tuple(attributes), columns, noise, unused


def _grown_columns(
    table: Table, target: str, requested_columns: tuple[str, ...]
) -> tuple[str, ...]:
    missing = next((name for name in requested_columns if name not in table.columns), None)
    if missing is not None:
        raise TableError(table.source, table.lacks(missing))
    if target in requested_columns:
        raise LearnerError(f"column {target!r}", "is the target; leave it out of --columns")
    return requested_columns or tuple(name for name in table.columns if name != target)


def _in_clear(name: str, values: Numbers) -> GeneratedAttribute | None:
    """Return a column of numbers in clear as an attribute, its domain read off; None where it is a point."""
    known = values[~np.isnan(values)]
    if not len(known) or known.min() == known.max():
        return None
    is_whole = bool((known == np.floor(known)).all())
    generated_attribute = GeneratedAttribute(name, float(known.min()), float(known.max()), is_whole)
    return generated_attribute if _has_intervals(generated_attribute) else None


def _has_intervals(attribute: GeneratedAttribute) -> bool:
    """Return whether a domain can be parted: it is not wider than numbers are, nor as narrow as their rounding."""
    ends = abs(attribute.low), abs(attribute.high)
    return bool(2 * MOST * np.spacing(max(ends)) < attribute.width < np.inf)


def _check_hidden(hidden: Hidden, where: str) -> None:
    """Check that what a manifest says of a column can be worked with.

    Raises:
        ManifestError: its domain cannot be parted, or its noise is far too wide, or its classes far too many.
    """
    hiding = hidden.hiding
    if not _has_intervals(hidden.attribute):
        raise ManifestError(
            where,
            f"{hidden.name!r}: its domain is too wide or too narrow to divide; declare another "
            "one and run treewarden randomize again",
        )
    if isinstance(hiding, ClassNoise):
        if hidden.attribute.width > MOST_PARTS * hiding.wide:
            raise ManifestError(
                where,
                f"{hidden.name!r}: more than {MOST_PARTS:,} classes; run treewarden randomize again with wider ones",
            )
    elif hiding.reach > WIDEST * hidden.attribute.width:
        raise ManifestError(
            where,
            f"{hidden.name!r}: the noise hides everything; run treewarden randomize again with a lower --level",
        )


MOST_CLASSES = 50


@dataclass(frozen=True, slots=True)
class GrowRequest:
    """What is asked for; ``columns`` empty: all that are hidden, and those in clear that hold numbers."""

    table: Path
    manifest: Path
    target: str
    method: Method
    columns: tuple[str, ...] = ()
    kernel: Kernel = Kernel.MIDPOINT


@dataclass(frozen=True, slots=True)
class RandomisedTable:
    """A randomised table that trees can be grown from.

    ``unused`` says in words of each column left out why. ``values`` are those of hidden text columns, in order.
    """

    wanted: GrowRequest
    records: Noisy
    values: Mapping[str, tuple[str, ...]]
    classes: tuple[str, ...]
    unlabelled: int
    unused: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GrownNoisyTree:
    """A tree, and how many records it was grown from and without, as those lack a value."""

    tree: Tree
    records: int
    left_out: int


def grown(request: GrowRequest, step: Step = silent) -> tuple[GrownNoisyTree, RandomisedTable]:
    """Return the tree that grows from a randomised table; ``step`` is told of each stage.

    Raises:
        ManifestError: the manifest is not understood, or is of another file.
        TableError: the table cannot be read, or lacks a column.
        LearnerError: the target or the columns are of no use, or there are too few records.
        OSError: a file cannot be read.
    """
    with step(f"reading {request.table.name}"):
        subject = read_subject(request)
    with step("growing the tree"):
        return tree_of(subject), subject


def read_subject(grow_request: GrowRequest) -> RandomisedTable:
    """Read a randomised table, and check that a tree can be grown from it; errors as for ``grown``."""
    manifest = load_manifest(grow_request.manifest)
    table = read_table(grow_request.table)
    check_is_of(manifest, grow_request.table, grow_request.manifest.name)
    check_has(manifest, table.columns, grow_request.manifest.name)
    classes = _classes(grow_request, manifest, table)
    there = np.flatnonzero(~classes.missing)
    attributes, columns, noise, unused = columns_of(
        table, manifest, grow_request.target, grow_request.columns, grow_request.manifest.name
    )
    records = Noisy(
        attributes,
        {name: values[there] for name, values in columns.items()},
        noise,
        classes.codes[there],
        len(classes.categories),
    )
    values = {column.name: column.values for column in manifest.columns if column.values}
    return RandomisedTable(
        grow_request, records, values, classes.categories, table.rows - len(there), unused
    )


def tree_of(subject: RandomisedTable) -> GrownNoisyTree:
    """Grow the tree.

    Raises:
        LearnerError: there are too few records, or a value lies where its noise cannot have put it.
    """
    grow_request, records = subject.wanted, subject.records
    _check_enough(grow_request, records)
    try:
        learned = learn(records, grow_request.method, grow_request.kernel)
    except ValueError as error:
        raise LearnerError(grow_request.table.name, str(error)) from error
    tree = published(
        learned, records.attributes, subject.values, grow_request.target, subject.classes
    )
    used = len(records.classes) - learned.left_out
    return GrownNoisyTree(tree, used, learned.left_out + subject.unlabelled)


def _classes(grow_request: GrowRequest, manifest: Manifest, table: Table) -> CategoricalColumn:
    target = grow_request.target
    where = f"column {target!r}"
    if target not in table.columns:
        raise TableError(table.source, table.lacks(target))
    if manifest.column(target) is not None:
        raise LearnerError(where, "its values are hidden by noise; choose a target without noise")
    categorical_column = table.categories(target)
    count = len(np.unique(categorical_column.codes[categorical_column.codes >= 0]))
    if count < 2:
        raise LearnerError(
            where, f"has {'one value' if count else 'no value'}; choose a target with two or more"
        )
    if count > MOST_CLASSES:
        raise LearnerError(
            where, f"has {count:,} values, more than {MOST_CLASSES} classes; choose another target"
        )
    return categorical_column


def _check_enough(request: GrowRequest, records: Noisy) -> None:
    table = np.stack([records.columns[attribute.name] for attribute in records.attributes])
    is_there = np.asarray(~np.isnan(table).any(axis=0))
    counts = np.bincount(records.classes[is_there], minlength=records.class_count)
    is_global = request.method is Method.GLOBAL
    fewest = int(counts.sum() if is_global else counts.min())
    if fewest >= FEWEST_RECORDS:
        return
    needed = f"method {request.method} needs {FEWEST_RECORDS:,} complete records"
    lacking = f"in the whole table, {len(is_there) - int(is_there.sum()):,} records lack a value"
    have = (
        f"{needed}, but only {fewest:,} are complete"
        if is_global
        else f"{needed} of each class, but one class of {request.target!r} has only {fewest:,}"
    )
    instead = "" if is_global else ", merge rare classes, or use --method global"
    raise LearnerError(request.table.name, f"{have} ({lacking}); give more records{instead}")


def unused_words(subject: RandomisedTable) -> str:
    """Return which columns were not used and why; "" where all were."""
    said = []
    for why in dict.fromkeys(subject.unused.values()):
        said.append(
            f"{listed(name for name, told in subject.unused.items() if told == why)} ({why})"
        )
    return "; ".join(said)


# How well a tree from noisy records does on true ones.


@dataclass(frozen=True, slots=True)
class TestResult:
    """What came of a test: ``right`` of ``records``, and ``most_frequent`` records of their most frequent class.

    Among the wrong ones are those whose class the tree does not know (``unknown``), and those that get no prediction,
    as they lack a value (``unanswered``). ``outside`` are numbers outside their domain and texts that are none of the
    known ones: they count as the nearest, and the last. ``unlabelled`` records have no class, and do not count.
    """

    records: int
    right: int
    most_frequent: int
    unknown: int
    unanswered: int
    outside: int
    unlabelled: int


def tested(tree: Tree, attributes: tuple[GeneratedAttribute, ...], path: Path) -> TestResult:
    """Return how well a tree does on a true table.

    ``attributes`` are those that it was grown on, with their domains.

    Raises:
        TableError: the table cannot be read, lacks a column or any class, or a value is not of its column's type.
    """
    with in_role("the test table"):
        table = read_table(path)
    columns = {feature.name: table.column(feature) for feature in tree.features}
    truth = table.categories(tree.target, tree.classes)
    found = np.array(labels(tree, predict(tree, columns)), dtype=object)
    there = ~truth.missing
    if not there.any():
        raise TableError(path.name, f"no record has a value of {tree.target!r}; give some that do")
    names = np.array(truth.categories, dtype=object)[truth.codes[there]]
    outside = sum(
        _outside(columns[attribute.name], tree, attribute)[there].sum() for attribute in attributes
    )
    return TestResult(
        records=int(there.sum()),
        right=int((found[there] == names).sum()),
        most_frequent=int(np.bincount(truth.codes[there]).max()),
        unknown=int((~np.isin(names.astype(str), tree.classes)).sum()),
        unanswered=sum(each is None for each in found[there].tolist()),
        outside=int(outside),
        unlabelled=int((~there).sum()),
    )


def _outside(
    column: NumericColumn | CategoricalColumn, tree: Tree, attribute: GeneratedAttribute
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if isinstance(column, NumericColumn):
        return (column.numbers < attribute.low) | (column.numbers > attribute.high)
    known = set(tree.feature(attribute.name).values)
    is_strange = np.array([name not in known for name in column.categories] + [False])
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = is_strange[column.codes]
    return found
