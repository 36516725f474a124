"""What is audited: one tree, the people, where they stop in it, and what the adversary knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.contributions import Members
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Tree

if TYPE_CHECKING:  # of outputs that are published beside the tree
    from treewarden.audit.outputs.beside_rows import BesideRows

Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Case:
    """What is audited: a tree, the people, where they stop in it, and what the adversary knows (resolved).

    ``incomplete`` is how many records of each profile lack a value, (P,), where the people's columns do not say it.
    ``beside`` is what is published beside the tree.
    """

    tree: Tree
    population: Population
    members: Members
    knowledge: Knowledge
    incomplete: FloatArray | None = None
    beside: BesideRows | None = None


def once(facts: Callable[[Case], Iterator[Fact]]) -> Callable[[Case], tuple[Fact, ...]]:
    """Let facts of a case be worked out once, however many constraints ask for them; they go when the case does."""
    kept: WeakKeyDictionary[Case, tuple[Fact, ...]] = WeakKeyDictionary()

    @wraps(facts)
    def found(case: Case) -> tuple[Fact, ...]:
        known = kept.get(case)
        if known is None:
            known = kept[case] = tuple(facts(case))
        return known

    return found
