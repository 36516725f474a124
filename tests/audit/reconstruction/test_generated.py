"""Cells of domains that nobody can list, generated one by one: the same proofs as from all points of small domains."""

import numpy as np
import pytest

from tests.audit.reconstruction.test_of_table import people_of
from tests.audit.reconstruction.test_proved import BOTH, HAND, forest, stump
from tests.judges.run_reconstruction import drawn, fitting, model_of, stop_of
from tests.kit.tiers import seeds
from treewarden.audit.population.forest import forest_of
from treewarden.audit.progress import FOREVER, clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction import cells
from treewarden.audit.reconstruction.cells import CellMethod, multiply_sizes
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain, find_domain
from treewarden.audit.reconstruction.generated_cells import (
    NOT_DECIDED,
    _Generation,
    generate_cells,
)
from treewarden.audit.reconstruction.of_model import SAME_RECORDS, SEEN_WEIGHTS, reconstruct
from treewarden.audit.reconstruction.of_table import rebuild_people
from treewarden.audit.reconstruction.problem import NO_RECORD, read_counts
from treewarden.ppdm_models.tree.ensemble import trees_of


@pytest.fixture
def none_listed(monkeypatch):
    """Let no domain be listed, neither by points nor by boxes."""
    monkeypatch.setattr(cells, "MOST_POINTS", 0)
    monkeypatch.setattr(cells, "MOST_BOXES", 0)


def numbers(found):
    """Return the proved ends of each cell with a record by the leaves of all trees."""
    ends = zip(found.counts.low.tolist(), found.counts.high.tolist(), strict=True)
    told = zip(found.cells.stops.T.tolist(), ends, strict=True)
    return {tuple(stops): end for stops, end in told if np.any(end[1])}


@pytest.mark.parametrize("seed", seeds(100, quick=4))
def test_what_is_proved_is_the_same_as_from_all_points(seed, monkeypatch):
    case = drawn(seed)
    if not case.declared.columns:
        return
    model = model_of(case)
    listed = reconstruct(model, FOREVER, case.declared, uses_thresholds=False)
    monkeypatch.setattr(cells, "MOST_POINTS", 0)
    monkeypatch.setattr(cells, "MOST_BOXES", 0)
    found = reconstruct(model, FOREVER, case.declared, uses_thresholds=False)
    if isinstance(found, Undetermined):
        assert found == NOT_DECIDED
        return
    assert found.cells.method is CellMethod.GENERATED
    if found.cells.least is None:
        assert numbers(found) == numbers(listed)
        assert found.tables == listed.tables


def test_the_hand_case_is_proved_without_a_list(none_listed):
    found = reconstruct(HAND, FOREVER, BOTH)
    assert (found.records_proved, found.whole_records, found.tables) == (2, 2, 2)
    assert "searched by column generation" in found.coverage.words
    assert found.assumed == (SEEN_WEIGHTS, SAME_RECORDS)


def test_records_are_proved_though_other_cells_were_never_generated(none_listed, monkeypatch):
    monkeypatch.setattr(_Generation, "complete", lambda self: False)
    found = reconstruct(HAND, FOREVER, BOTH)
    # The record of class yes: of class no, every cell is at its most in no table.
    assert found.records_proved == 1
    assert (found.tables, found.is_decided) == (None, False)
    people = people_of(HAND)
    rebuilt = rebuild_people(forest_of(HAND, people), people, FOREVER, BOTH)
    assert rebuilt.rows_in_groups(np.inf) == (0, 4)
    assert "other combinations of values" in rebuilt.left


@pytest.mark.parametrize("seed", [844, 2203, 2355, 0, 1, 2, 3])
def test_no_cell_beside_others_is_said_to_have_less_than_some_table(seed, none_listed, monkeypatch):
    case = drawn(seed)
    tables = fitting(case, 5_000)
    monkeypatch.setattr(_Generation, "complete", lambda self: False)
    found = reconstruct(model_of(case), FOREVER, case.declared, uses_thresholds=False)
    if tables is None or isinstance(found, Undetermined) or not found.classes:
        return
    numbers = np.array(tables).reshape(len(tables), -1, len(found.classes))
    records = [dict(zip(case.columns, point, strict=True)) for point in case.domain]
    stops = [tuple(stop_of(tree, record) for tree in case.trees) for record in records]
    for cell, stop in enumerate(found.cells.stops.T.tolist()):
        here = [place for place, other in enumerate(stops) if other == tuple(stop)]
        held = numbers[:, here].sum(axis=1)
        assert (found.counts.low[cell] <= held.min(axis=0)).all()
        assert (found.counts.high[cell] >= held.max(axis=0)).all()


def test_at_the_limit_of_work_nothing_is_decided(none_listed):
    trees = tuple(trees_of(HAND))
    domain = find_domain(trees, BOTH)
    assert generate_cells(trees, read_counts(trees), domain, clock(0.0)) == NOT_DECIDED


def test_without_a_declared_domain_none_is_searched(none_listed):
    assert reconstruct(HAND, FOREVER) == cells.TOO_MANY


def test_counts_of_no_table_contradict(none_listed):
    only = DeclaredDomain({"a": DeclaredColumn((0.0,)), "b": DeclaredColumn((0.0, 1.0))})
    found = reconstruct(
        forest(stump("a", (1, 0), (1, 2)), stump("b", (1, 1), (1, 1))), FOREVER, only
    )
    assert found == Undetermined(NO_RECORD)


def test_a_cell_without_a_value_has_no_points_beside_a_column_of_any_number():
    options, one, any_number = np.array([[True], [False]]), np.ones(1), np.array([np.inf])
    for first, second in ((one, any_number), (any_number, one)):
        sizes = multiply_sizes(np.ones(2), options, first)
        assert multiply_sizes(sizes, np.ones((2, 1), dtype=bool), second).tolist() == [np.inf, 0.0]
