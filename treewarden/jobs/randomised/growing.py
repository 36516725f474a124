"""A tree from a randomised table and its manifest: which columns take part, what is checked, what is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treewarden.audit.stages import Step, silent
from treewarden.jobs.randomised.columns import columns_of
from treewarden.ppdm_models.errors import LearnerError, TableError
from treewarden.ppdm_models.methods.randomised.intervals import FEWEST_RECORDS
from treewarden.ppdm_models.methods.randomised.learning import Method, Noisy, learn, published
from treewarden.ppdm_models.methods.randomised.manifest import (
    Manifest,
    check_has,
    check_is_of,
    load_manifest,
)
from treewarden.ppdm_models.methods.randomised.reconstruction import Kernel
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.table import Table, listed
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Tree

MOST_CLASSES = 50


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for; ``columns`` empty: all that are hidden, and those in clear that hold numbers."""

    table: Path
    manifest: Path
    target: str
    method: Method
    columns: tuple[str, ...] = ()
    kernel: Kernel = Kernel.MIDPOINT


@dataclass(frozen=True, slots=True)
class Subject:
    """A randomised table that trees can be grown from.

    ``unused`` says in words of each column left out why. ``values`` are those of hidden text columns, in order.
    """

    wanted: Wanted
    records: Noisy
    values: Mapping[str, tuple[str, ...]]
    classes: tuple[str, ...]
    unlabelled: int
    unused: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """A tree, and how many records it was grown from and without, as those lack a value."""

    tree: Tree
    records: int
    left_out: int


def grown(wanted: Wanted, step: Step = silent) -> tuple[Found, Subject]:
    """Return the tree that grows from a randomised table; ``step`` is told of each stage.

    Raises:
        ManifestError: the manifest is not understood, or is of another file.
        TableError: the table cannot be read, or lacks a column.
        LearnerError: the target or the columns are of no use, or there are too few records.
        OSError: a file cannot be read.
    """
    with step(f"reading {wanted.table.name}"):
        subject = read_subject(wanted)
    with step("growing the tree"):
        return tree_of(subject), subject


def read_subject(wanted: Wanted) -> Subject:
    """Read a randomised table, and check that a tree can be grown from it; errors as for ``grown``."""
    manifest = load_manifest(wanted.manifest)
    table = read_table(wanted.table)
    check_is_of(manifest, wanted.table, wanted.manifest.name)
    check_has(manifest, table.columns, wanted.manifest.name)
    classes = _classes(wanted, manifest, table)
    there = np.flatnonzero(~classes.missing)
    attributes, columns, noise, unused = columns_of(
        table, manifest, wanted.target, wanted.columns, wanted.manifest.name
    )
    records = Noisy(
        attributes,
        {name: values[there] for name, values in columns.items()},
        noise,
        classes.codes[there],
        len(classes.categories),
    )
    values = {each.name: each.values for each in manifest.columns if each.values}
    return Subject(wanted, records, values, classes.categories, table.rows - len(there), unused)


def tree_of(subject: Subject) -> Found:
    """Grow the tree.

    Raises:
        LearnerError: there are too few records, or a value lies where its noise cannot have put it.
    """
    wanted, records = subject.wanted, subject.records
    _check_enough(wanted, records)
    try:
        learned = learn(records, wanted.method, wanted.kernel)
    except ValueError as error:
        raise LearnerError(wanted.table.name, str(error)) from error
    tree = published(learned, records.attributes, subject.values, wanted.target, subject.classes)
    used = len(records.classes) - learned.left_out
    return Found(tree, used, learned.left_out + subject.unlabelled)


def _classes(wanted: Wanted, manifest: Manifest, table: Table) -> CategoricalColumn:
    target = wanted.target
    where = f"column {target!r}"
    if target not in table.columns:
        raise TableError(table.source, table.lacks(target))
    if manifest.column(target) is not None:
        raise LearnerError(where, "its values are hidden by noise; choose a target in clear")
    found = table.categories(target)
    count = len(np.unique(found.codes[found.codes >= 0]))
    if count < 2:
        raise LearnerError(
            where, f"has {'one value' if count else 'no value'}; a target has two or more"
        )
    if count > MOST_CLASSES:
        raise LearnerError(
            where, f"has {count:,} values, more than {MOST_CLASSES} classes; choose another target"
        )
    return found


def _check_enough(wanted: Wanted, records: Noisy) -> None:
    table = np.stack([records.columns[each.name] for each in records.attributes])
    is_there = np.asarray(~np.isnan(table).any(axis=0))
    counts = np.bincount(records.classes[is_there], minlength=records.class_count)
    is_global = wanted.method is Method.GLOBAL
    fewest = int(counts.sum() if is_global else counts.min())
    if fewest >= FEWEST_RECORDS:
        return
    lacking = f"{len(is_there) - int(is_there.sum()):,} lack a value"
    have = (
        f"{fewest:,} records with a value in every column ({lacking})"
        if is_global
        else f"a class of {wanted.target!r} has {fewest:,} records with a value in every column ({lacking} in all)"
    )
    instead = "" if is_global else ", merge rare classes or choose --method global"
    raise LearnerError(
        wanted.table.name,
        f"{have}, and {wanted.method} needs {FEWEST_RECORDS:,}{'' if is_global else ' of each class'} to see "
        f"a distribution; give more records{instead}",
    )


def unused_words(subject: Subject) -> str:
    """Return which columns were not used and why; "" where all were."""
    said = []
    for why in dict.fromkeys(subject.unused.values()):
        said.append(
            f"{listed(name for name, told in subject.unused.items() if told == why)} ({why})"
        )
    return "; ".join(said)
