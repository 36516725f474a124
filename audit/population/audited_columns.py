"""The columns of a table that an audit is about: quasi-identifiers, classes or numbers to protect, and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treewarden.audit.population.target import (
    check_target,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.matching import PLACEHOLDERS, target_in
from treewarden.ppdm_models.tables.table import Table, listed
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.tree import Feature, Task

NEARLY_UNIQUE_SHARE = 0.9
MOST_LISTED = 6
"""So many names stand in one warning."""
NO_SENSITIVE = "the model does not name the column that it predicts; add --sensitive COLUMN"
LACKS = "the table has no column"
LACKS_TARGET = (
    f"{LACKS} {{target!r}}, which the model predicts; give the table that has it, or rename the column "
    "that holds it"
)
TABLE_HAS_ONE_VALUE = (
    "the sensitive column {column} has only one value in this table, so everything about it is known already; "
    "give the whole training table, or name another column"
)
REGISTER_HAS_ONE_VALUE = (
    "the register has only one value in the sensitive column {column}; give a register of everybody who could be in "
    "the training table, or remove that column from the register"
)


def uncheckable(what: str, reason: str) -> str:
    """Return why an output cannot be checked, and what to do, where the true classes or numbers are not known."""
    if reason == NO_SENSITIVE:
        return "to check it, name the column that the model predicts: --sensitive COLUMN (the model does not name it)"
    return f"it cannot be checked, because the true {what} are not known: {reason}"


def quasi_identifier_features(
    tree: Model, table: Table, sensitive: str | None, qi: Sequence[str] | None
) -> tuple[Feature, ...]:
    """Return the quasi-identifiers, each as the model tests it, or as the table's values make it.

    Raises:
        TableError: there are none, one that the model tests is not named, or the sensitive column is one.
    """
    features = {feature.name: feature for feature in tree.features}
    names = list(dict.fromkeys(features if qi is None else qi))
    if not names:
        raise TableError(
            table.source,
            (
                "there are no quasi-identifiers; name the columns that an adversary knows: --qi "
                "COLUMN,..."
            ),
        )
    # A name that the table lacks is told first: it may be a slip for one that is missing.
    guessed = {name: table.guessed(name) for name in names if name not in features}
    tested = dict.fromkeys(
        feature.name for part in trees_of(tree) for feature in part.used_features()
    )
    missing = [name for name in tested if name not in names]
    # Who names the target and not what the model tests, has not meant an audit of the tests alone.
    private = target_in(tree, table) if sensitive is None and missing else sensitive
    if private in names:
        assert private is not None
        raise TableError(table.source, _twice(tree, table, private, is_named=qi is not None))
    if missing:
        raise TableError(
            table.source,
            (
                f"{tree.source} uses {listed(missing)}, which --qi does not name; add: --qi "
                f"{','.join(missing)}"
            ),
        )
    return tuple(features[name] if name in features else guessed[name] for name in names)


def _twice(tree: Model, table: Table, sensitive: str, *, is_named: bool) -> str:
    """Return why a column cannot be both what is private and what is known, and what to name instead."""
    target = target_in(tree, table)
    if target == sensitive and not is_named:
        return (
            f"the sensitive column {sensitive!r} is also a column that {tree.source} uses, so it cannot be the one "
            "that is predicted; name the predicted column: --sensitive COLUMN"
        )
    if target == sensitive:
        return (
            f"--qi names {sensitive!r}, which {tree.source} predicts; remove it from --qi, or leave out --qi: "
            "then all columns that the model uses are quasi-identifiers"
        )
    if target:
        return (
            f"{tree.source} does not predict {sensitive!r}; use --sensitive {target}, or add "
            f"--secret {sensitive} to protect that column"
        )
    return (
        f"the model uses {sensitive!r} to predict, so --sensitive cannot be {sensitive!r}; name the column that "
        f"the model predicts (--sensitive COLUMN), and add --secret {sensitive} to protect that column"
    )


def _no_sensitive(tree: Model) -> str:
    """Return why the truth is not known where no column is named: the file names one that the table lacks, or none."""
    if tree.target and tree.target not in PLACEHOLDERS:
        return LACKS_TARGET.format(target=tree.target)
    return NO_SENSITIVE


def classes_of_records(
    tree: Model, table: Table, sensitive: str | None, one_value: str = TABLE_HAS_ONE_VALUE
) -> tuple[IndexArray | None, str]:
    """Return each record's class, or None and the reason why the truth is not known."""
    if tree.task is Task.REGRESSION:
        return None, "the model predicts a number, not a class"
    if sensitive is None:
        return None, _no_sensitive(tree)
    check_target(tree, table, sensitive)
    if not tree.classes:
        return None, "the file names no class, so only its leaves were measured"
    if sensitive not in table.columns:
        return None, f"{LACKS} {sensitive!r}{table.meant(sensitive)}"
    column = table.categories(sensitive, tree.classes)
    if column.missing.any():
        where = table.place(int(np.flatnonzero(column.missing)[0]))
        raise TableError(
            table.source,
            (
                f"column {sensitive!r}, {where}: the value is missing; fill in the value, or remove "
                "the record if it was not used for training"
            ),
        )
    if len(column.categories) < 2:
        raise TableError(table.source, one_value.format(column=repr(sensitive)))
    unknown = [code for code, value in enumerate(column.categories) if value not in tree.classes]
    if unknown:
        where = table.place(int(np.isin(column.codes, unknown).argmax()))
        raise TableError(
            table.source,
            f"column {sensitive!r}, {where}: the model has no such class; its classes are "
            f"{', '.join(repr(name) for name in tree.classes[:12])}; write the values of the table as in the "
            "model, or name another column (--sensitive COLUMN)",
        )
    return np.array([tree.classes.index(value) for value in column.categories])[column.codes], ""


def targets_of_records(
    tree: Model, table: Table, sensitive: str | None, records: IndexArray
) -> FloatArray | Undetermined:
    """Return the numeric target of these records, or why it is not known."""
    if tree.task is not Task.REGRESSION:
        return Undetermined("the target is not a number")
    if sensitive is None:
        return Undetermined(_no_sensitive(tree))
    check_target(tree, table, sensitive)
    if sensitive not in table.columns:
        return Undetermined(f"{LACKS} {sensitive!r}{table.meant(sensitive)}")
    try:
        numbers = table.numbers(sensitive).numbers
    except TableError as error:
        return Undetermined(error.problem)
    if not np.isfinite(numbers[records]).all():
        return Undetermined(f"column {sensitive!r} lacks values")
    return numbers[records]


def column_warnings(
    tree: Model,
    table: Table,
    features: Sequence[Feature],
    columns: Mapping[str, Column],
    sensitive: str | None,
) -> list[str]:
    """Return what is strange about the columns: the target's name, nearly unique values, values not declared."""
    said = []
    if sensitive is not None and not target_in(tree, table):
        says = f"names its target {tree.target!r}, the default of some tools"
        says = says if tree.target else "names no target"
        said.append(f"{tree.source} {says}, so {sensitive!r} is used (--sensitive)")
    told_apart = [
        repr(feature.name)
        for feature in features
        if table.records >= 20
        and _has_more(columns[feature.name], NEARLY_UNIQUE_SHARE * table.records)
    ]
    if told_apart:
        several = len(told_apart) > 1
        said.append(
            f"nearly unique per record: {'quasi-identifiers' if several else 'quasi-identifier'} "
            f"{cut_names(told_apart)}; "
            "a name or an id that the tree does not test can be left out with --qi"
        )
    for feature in features:
        column = columns[feature.name]
        if isinstance(column, CategoricalColumn) and feature.values:
            strange = [repr(value) for value in column.categories if value not in feature.values]
            if strange:
                said.append(
                    f"column {feature.name!r} holds {cut_names(strange)}, which {tree.source} does not declare"
                )
    return said


def _has_more(column: Column, values: float) -> bool:
    """Return whether a column has more different values, a missing one among them."""
    if isinstance(column, CategoricalColumn) and len(column.categories) + 1 <= values:
        return False
    return len(np.unique(column.keys)) > values


def cut_names(names: Sequence[str]) -> str:
    """Return names as a list that stays readable, with a count of the rest."""
    more = len(names) - MOST_LISTED
    return ", ".join(names[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
