"""Values that a model declares or tests and nobody in the table has: a list of records may hide among them.

An honest model has such values too: a factor of R keeps levels that became empty, an encoder those of another part of
the table. They are few, short, and read like those that people have. What does not is a leak: nobody could judge it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import distinct
from treewarden.ppdm_models.formats.common.origin import LONGEST_LABEL, is_class_name
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.nodes import Cuts, NodeTable
from treewarden.ppdm_models.tree.predicate import CategoryTest, atoms
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Tree

MOST_UNHELD = 20
"""So many short values may be nobody's; more are a list, where they are also more than the values that people have."""
MOST_UNCHECKED = 100
"""So many short values may stand in a column that cannot be held against the table."""
PARTS = re.compile(r"\w+")
SEPARATED = re.compile(r"[\s\d,;|:=]")
NO_TABLE = "not compared with the table, because none was given (--data)"
NO_WORDS = "not compared with the table, which has numbers there"
NO_QI = "not compared with the table, because the column is not a quasi-identifier (--qi)"


@dataclass(frozen=True, slots=True)
class ValueShape:
    """How long values are at most, of how many parts, and how many of these hold digits."""

    length: int = 0
    parts: int = 0
    numbers: int = 0

    def covers(self, value_shape: ValueShape) -> bool:
        """Return whether another shape goes beyond this one in nothing."""
        return (
            value_shape.length <= self.length
            and value_shape.parts <= self.parts
            and value_shape.numbers <= self.numbers
        )


def with_unheld(
    leaks: tuple[Leak, ...] | Undetermined, model: Model, population: Population
) -> tuple[Leak, ...] | Undetermined:
    """Return the leaks of a file with the values that its model has and nobody in the table, each once."""
    if isinstance(leaks, Undetermined):
        return leaks
    return (*leaks, *(leak for leak in unheld_values(model, population) if leak not in leaks))


def unheld_values(model: Model, population: Population) -> Iterator[Leak]:
    """Yield one leak for each column with values of no person that are long, of many parts, or many.

    A column that cannot be held against the table may hold such values or not: the leak is then a possible one.
    """
    for name, values in _values_by_column(model).items():
        column = population.columns.get(name)
        if isinstance(column, CategoricalColumn):
            held = {
                column.categories[code]
                for code in distinct(column.codes[column.codes >= 0]).tolist()
            }
            yield from _unheld(name, values - held, held)
            yield from _of_one_person(name, values, column, population)
        else:
            reason = NO_WORDS if column is not None else NO_TABLE if population.is_absent else NO_QI
            yield from _unchecked(name, values, reason)


def _unheld(name: str, values: set[str], table_values: set[str]) -> Iterator[Leak]:
    usual = _shape(table_values)
    odd = sum(not (_is_plain(value) or usual.covers(_shape({value}))) for value in values)
    if odd:
        what = (
            f"{odd} values of {name!r} that nobody in the table has, longer than the others: they "
            "may be records; read them"
        )
        yield Leak(LeakKind.UNKNOWN, _where(name), what)
    elif len(values) > MOST_UNHELD and len(values) > len(table_values):
        what = (
            f"{len(values)} values of {name!r} that nobody in the table has; read them, or drop "
            "them from the column and train again"
        )
        yield Leak(LeakKind.UNKNOWN, _where(name), what)


def _of_one_person(
    name: str, values: set[str], column: CategoricalColumn, population: Population
) -> Iterator[Leak]:
    """Yield that a model names values which one person of the table has each: like an extreme, such a value is theirs.

    An adversary who knows the columns of everyone in the table learns nothing from it. Others learn that somebody with
    the value was in the table.
    """
    known = column.codes >= 0
    people = np.bincount(
        column.codes[known], weights=population.counts[known], minlength=len(column.categories)
    )
    alone = sum(
        number == 1 and value in values
        for value, number in zip(column.categories, people.tolist(), strict=True)
    )
    if alone:
        what = (
            f"{alone} named values of {name!r} belong to one person in the table each, "
            "and disclose that such a person was in it; merge rare values before the "
            "training"
        )
        yield Leak(LeakKind.CATEGORIES, _where(name), what)


def _unchecked(name: str, values: set[str], reason: str) -> Iterator[Leak]:
    odd = sum(not _is_plain(value) for value in values)
    if odd or len(values) > MOST_UNCHECKED:
        size = f"{odd} long values" if odd else f"a list of {len(values)} values"
        yield Leak(
            LeakKind.UNKNOWN, _where(name), f"{size} of {name!r}: {reason}", is_possible=True
        )


def _where(name: str) -> str:
    return f"column {name[:LONGEST_LABEL]!r}"


def _is_plain(value: str) -> bool:
    """Return whether a value reads like a level of a factor: a few words, or one without digits, however joined."""
    is_joined = len(value) <= LONGEST_LABEL and not SEPARATED.search(value.strip())
    return is_class_name(value) or is_joined


def _shape(values: set[str]) -> ValueShape:
    parts = [PARTS.findall(value) for value in values]
    return ValueShape(
        max(map(len, values), default=0),
        max(map(len, parts), default=0),
        max((sum(any(map(str.isdigit, part)) for part in own) for own in parts), default=0),
    )


def _values_by_column(model: Model) -> dict[str, set[str]]:
    """Return the values that a model declares for each categorical column, or tests."""
    found: dict[str, set[str]] = {}
    seen: set[int] = set()
    for part in (model, *trees_of(model)):
        if id(part.features) not in seen:  # the trees of an ensemble mostly share them
            seen.add(id(part.features))
            for feature in part.features:
                if not feature.numeric:
                    found.setdefault(feature.name, set()).update(feature.values)
    if found:
        for tree in trees_of(model):
            for name, values in _tested(tree):
                found.setdefault(name, set()).update(values)
    return found


def _tested(tree: Tree) -> Iterator[tuple[str, tuple[str, ...]]]:
    nodes = tree.nodes
    tests = nodes.tests if isinstance(nodes, NodeTable) else [node.test for node in nodes]
    if isinstance(tests, Cuts):
        return  # of numbers only
    for test in tests:
        for atom in atoms(test):
            if isinstance(atom, CategoryTest):
                yield atom.feature, atom.values
