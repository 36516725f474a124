"""Programs row by row: what a variable sums is known down to the masses."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.cases import multiway_case
from treewarden.audit.entropy.masses import ProgramBuilder
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.search import EntropySearch
from treewarden.audit.facts.rows import Linear, Origin
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import DEFAULT
from treewarden.audit.system.system import build_system


def test_a_total_of_totals_sums_their_masses():
    build = ProgramBuilder()
    masses = [build.variable(1.0) for _ in range(4)]
    build.scale.extend([1.0] * 4)
    left, right = build.total(masses[:2], 0.0), build.total(masses[2:3], 0.5)
    assert left is not None
    assert right is not None
    whole = build.total([left, right, masses[3]], 0.0)
    sums = build.members().toarray().tolist()
    assert sums[left] == [1, 1, 0, 0]
    assert sums[right] == [0, 0, 1, 0]
    assert sums[whole or 0] == [1, 1, 1, 1]
    assert sums[:4] == [[float(row == column) for column in range(4)] for row in range(4)]


def of_everybody(case, klass, low, high):
    """Return that between so many of all people have a class."""
    profiles = np.arange(len(case.population.counts))
    classes, ones = np.full(len(profiles), klass, dtype=np.intp), np.ones(len(profiles))
    return Linear(profiles, classes, ones, low, high, Origin("published_beside", "a table"))


def program_with(system, *lines):
    """Return the program of all leaves under further rows."""
    search = EntropySearch(replace(system, rows=(*system.rows, *lines)), DEFAULT)
    (block,) = blocks(search.system, tuple(search.knowledge), ())
    return search.reduced(block).program


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_follow_from_leaves_or_say_the_same_again_are_left_out(seed):
    case = multiway_case(seed, Knowledge(leaf="counts", split="none"), records=60)
    system = build_system(case)
    totals = case.population.truth.sum(axis=0)
    said = of_everybody(case, 0, totals[0] - 1, totals[0])
    without = program_with(system, of_everybody(case, 0, 1.0, np.inf))
    assert program_with(system, said).rows.shape == without.rows.shape
    # What leaves do not say stays, once.
    case = multiway_case(seed, Knowledge(leaf="labels", split="none"), records=60)
    system = build_system(case)
    told = program_with(system, said)
    assert told.rows.shape[0] == program_with(system, said, said, said).rows.shape[0]
    weaker = of_everybody(case, 0, 0.0, np.inf)
    assert program_with(system, said, weaker).rows.shape[0] == told.rows.shape[0]
    assert program_with(system, weaker).rows.shape[0] == told.rows.shape[0] - 1
