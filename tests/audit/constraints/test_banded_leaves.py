"""Counts published as bands: inequalities for the estimate and for whole records, never equalities."""

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.estimate import direct
from tests.kit.small_audits import flat_tree
from treewarden.audit.facts.rows import Case, LeafMass
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import MeasureCall
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import members
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.column import CategoricalColumn

COUNTS = [[7, 2, 0], [3, 3, 3]]
BANDS = (((5.0, 9.0), (0.0, 4.0), (0.0, 4.0)), ((0.0, 4.0), (0.0, 4.0), (0.0, 4.0)))
PLAIN = Knowledge(split="none")
CONFIDENCE = MeasureCall("confidence")


def banded(bands=BANDS):
    tree = flat_tree(COUNTS)
    nodes = [replace(node, class_counts=None) for node in tree.nodes]
    for node, given in zip((1, 2), bands, strict=True):
        nodes[node] = replace(nodes[node], bands=given)
    return replace(tree, nodes=tuple(nodes))


def people(truth=COUNTS):
    """Return two profiles in each leaf: the records of each class are parted as evenly as they can be."""
    halves = [
        half for row in truth for half in (np.array(row) // 2, np.array(row) - np.array(row) // 2)
    ]
    place = CategoricalColumn(codes=np.array([0, 0, 1, 1]), categories=("p0", "p1"))
    age = CategoricalColumn(codes=np.array([0, 1, 0, 1]), categories=("old", "young"))
    counts = np.array([half.sum() for half in halves], dtype=float)
    leaf = np.array([1, 1, 2, 2], dtype=np.intp)
    columns = {"place": place, "age": age}
    return Population(("place", "age"), columns, counts, leaf, np.array(halves, dtype=float))


def system_of(tree, knowledge=PLAIN, population=None):
    population = population or people()
    return build_system(Case(tree, population, members(tree, population.leaf), knowledge))


def masses(system):
    return {(r.node, r.klass): (r.low, r.high) for r in system.rows if isinstance(r, LeafMass)}


def test_a_band_is_a_pair_of_inequalities():
    assert masses(system_of(banded())) == {
        (node, klass): band
        for node, bands in zip((1, 2), BANDS, strict=True)
        for klass, band in enumerate(bands)
    }


def test_a_band_that_the_true_table_breaks_is_dropped_and_said():
    system = system_of(banded((((0.0, 4.0), (0.0, 4.0), (0.0, 4.0)), BANDS[1])))
    (dropped,) = system.dropped
    assert (dropped.constraint, dropped.is_published) == ("leaf_band", True)


def test_who_is_said_to_know_labels_only_gets_no_bands_and_is_warned_of():
    known = Knowledge(leaf="labels", split="none")
    assert masses(system_of(banded(), known)) == {}
    audit = run(banded(), people(), known, (), AuditOptions(worlds=False))
    assert "class numbers of its leaves" in audit.warnings[0]


def test_who_is_said_to_know_counts_gets_the_true_ones():
    assert masses(system_of(banded(), Knowledge(leaf="counts", split="none")))[1, 0] == (7, 7)


def test_the_estimate_is_as_even_as_the_bands_allow():
    audit = run(banded(), people(), PLAIN, (CONFIDENCE,), AuditOptions(worlds=False))
    # Of nine records five at least have the first class; the other four are spread evenly.
    assert audit.full.readings[CONFIDENCE].reading.high == pytest.approx(5 / 9)
    assert audit.full.evidence.posterior.values[0] == pytest.approx([5 / 9, 2 / 9, 2 / 9])
    assert audit.full.evidence.posterior.values[2] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("bands", [BANDS, (((5.0, 9.0), None, (0.0, 1.0)), BANDS[1])])
def test_the_closed_form_within_bands_is_what_the_whole_program_gives(bands):
    closed = run(banded(bands), people(), PLAIN, (), AuditOptions(worlds=False))
    solved, _ = direct.solve(system_of(banded(bands)))
    assert closed.full.evidence.posterior.values == pytest.approx(solved.values, abs=1e-4)


def test_with_a_fact_across_leaves_the_estimate_stays_within_the_bands():
    known = Knowledge(split="none", marginal=True)
    reduced = run(banded(), people(), known, (), AuditOptions(worlds=False)).full.evidence.posterior
    whole, _ = direct.solve(system_of(banded(), known))
    assert reduced.values == pytest.approx(whole.values, abs=1e-4)
    first = (reduced.values * people().counts[:, None])[:2].sum(axis=0)
    assert (first >= np.array([5, 0, 0]) - 1e-6).all()
    assert (first <= np.array([9, 4, 4]) + 1e-6).all()


def test_whole_records_prove_of_a_band_only_what_its_ends_do():
    pure = flat_tree([[7, 0, 0], [3, 3, 3]])
    truth = [[7, 0, 0], [3, 3, 3]]
    exact = run(pure, people(truth), PLAIN, ())
    hidden = run(banded((((5.0, 7.0), (0.0, 4.0), (0.0, 4.0)), BANDS[1])), people(truth), PLAIN, ())
    assert not isinstance(hidden.full.evidence.worlds, Undetermined)
    assert exact.full.evidence.worlds.certain.tolist() == [True, True, False, False]
    assert not hidden.full.evidence.worlds.certain.any()


def test_a_band_of_nought_is_proof_all_the_same():
    pure = (((7.0, 7.0), (0.0, 0.0), (0.0, 0.0)), BANDS[1])
    audit = run(banded(pure), people([[7, 0, 0], [3, 3, 3]]), PLAIN, ())
    assert audit.full.evidence.worlds.certain.tolist() == [True, True, False, False]
