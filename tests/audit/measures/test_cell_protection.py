"""Cells of tables beside a model of numbers: the handbook's examples, and attacks found by trying every table."""

import re
from itertools import product

import numpy as np
import pytest

from tests.audit.measures.test_leaf_totals import regression_tree
from tests.kit.tiers import seeds
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import measures
from treewarden.audit.outputs.beside_rows import table_columns
from treewarden.audit.population.population import build_population
from treewarden.audit.run import run
from treewarden.jobs.population import with_contributors
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.readers import read_together
from treewarden.ppdm_models.tables.read_table import read_table_bytes

CODES = (
    b"level,name\n@,Total\n@@,North\n@@@,N1\n@@@,N2\n@@,South\n@@@,S1\n@@@,S2\n",
    "codes_district.csv",
)
"""A list of codes as sdcTable exports it: two regions of two districts each."""


def evidence_of(cells, text, *files, holders=None):
    """Return what an audit knows: ``cells`` are contributions by leaf and district, ``text`` is the table of totals."""
    lines, leaves = ["place,district,turnover,holding"], sorted({leaf for leaf, _ in cells})
    for (leaf, district), amounts in cells.items():
        for number, amount in enumerate(amounts):
            holder = f"{leaf}.{district}.{number}"
            lines.append(f"{leaf},{district},{amount},{(holders or {}).get(holder, holder)}")
    table = read_table_bytes("\n".join(lines).encode(), "firms.csv")
    means = [np.mean([x for key in cells if key[0] == leaf for x in cells[key]]) for leaf in leaves]
    tree = regression_tree([float(mean) for mean in means])
    people = build_population(tree, table, sensitive="turnover", qi=("place", "district"))
    if holders:
        people = with_contributors(people, table, "holding")
    outputs = read_together(
        [(text.encode(), "totals.csv"), *files], table_columns(people, (), "turnover")
    )
    return run(tree, people, Knowledge(), beside=outputs).full.evidence


def margin(evidence, **parameters):
    measure = measures()["cell_protection"]
    defaults = {name: each.default for name, each in measure.parameters.items()}
    return measure.read(evidence, {**defaults, **parameters})


def test_the_handbooks_third_example_bounds_a_withheld_cell_by_rows_and_columns():
    # Rows are leaves of 7, 3 and 6, columns districts of 9 and 7; only the third leaf's cells are published.
    cells = {
        ("p0", "A"): [3, 2],
        ("p0", "B"): [1, 1],
        ("p1", "A"): [1, 0],
        ("p1", "B"): [1, 1],
        ("p2", "A"): [2, 1],
        ("p2", "B"): [2, 1],
    }
    text = "place,district,total\n,A,9\n,B,7\np2,A,3\np2,B,3\np0,A,x\n"
    found = evidence_of(cells, text).records.cells
    position = next(n for n, (_, words) in enumerate(found.words) if "p0, district = A" in words)
    # A stranger cannot exclude 6; the contributor of 1 to the second leaf's cell of A can.
    assert found.proved[position] == pytest.approx(5)
    assert found.reached[position] == pytest.approx(5, rel=1e-6)


@pytest.mark.parametrize(("other", "is_safe"), [(22, False), (23, True)])
def test_the_handbooks_fourth_example_needs_an_upper_bound_of_100_85ths_of_the_largest(
    other, is_safe
):
    # X = 330 = 300 + 20 + 10 beside a withheld cell: the upper end is 330 + other, to be 352.94 at least,
    # where each contributor to the other cell knows of 1 that is their own.
    cells = {("p0", "A"): [300, 20, 10], ("p0", "B"): [1] * (other + 1), ("p1", "A"): [50, 50, 50]}
    text = "place,district,total\np0,A,*\np0,B,*\n"
    reading = margin(evidence_of(cells, text), rule="dominance", n=1).spots
    low = next(spot for spot in reading if spot.index == 0)
    assert (low.low >= 0.15) == (low.high >= 0.15) == is_safe
    assert low.high == pytest.approx(1 - 300 / (330 + other))


def test_the_handbooks_fifth_example_is_the_upper_protection_level_of_the_p_percent_rule():
    cells = {("p0", "A"): [100, 50, 4], ("p0", "B"): [1] * 8, ("p1", "A"): [50, 50, 50]}
    evidence = evidence_of(cells, "place,district,total\np0,A,*\np0,B,*\n")
    spot = next(spot for spot in margin(evidence).spots if spot.index == 0)
    # The total may be 154 + 7, as one of 8 knows: the second estimates the largest at 161 - 50, which is 11 % off.
    assert (spot.low, spot.high) == pytest.approx((0.11, 0.11))
    half = next(spot for spot in margin(evidence, q=0.5).spots if spot.index == 0)
    assert half.high == pytest.approx(0.055)


REGIONS = {
    ("p0", "N1"): [40, 30, 20],
    ("p0", "N2"): [9],
    ("p0", "S1"): [30, 30, 30],
    ("p1", "N1"): [20, 20, 20],
    ("p1", "S1"): [30, 20, 10],
    ("p1", "S2"): [25, 20, 15],
}


def test_a_total_of_a_region_proves_the_withheld_district_below_it():
    text = "district,total\nN1,150\nN2,x\nS1,150\nS2,60\nNorth,159\n"
    found = margin(evidence_of(REGIONS, text, CODES))
    assert found.reading.high == 0
    assert found.spots[0].note == "1 contributor; its total follows exactly"


def test_a_withheld_district_is_protected_where_another_one_is_withheld_too():
    cells = {**REGIONS, ("p0", "N2"): [9, 9, 9]}
    text = "district,total\nN1,x\nN2,x\nS1,150\nS2,60\nNorth,177\nSouth,210\n"
    found = margin(evidence_of(cells, text, CODES)).reading
    assert found.low > 0.1


def test_a_singleton_undoes_the_withholding_of_the_other_cell():
    # Two firms, each alone in its district of one region: each subtracts its own part from the region's total.
    cells = {
        ("p0", "N1"): [40],
        ("p0", "N2"): [30],
        ("p0", "S1"): [10, 10, 10],
        ("p1", "S1"): [9] * 5,
    }
    text = "district,total\nN1,x\nN2,x\nNorth,70\n"
    assert margin(evidence_of(cells, text, CODES)).reading.high == pytest.approx(0, abs=1e-6)


def test_a_published_cell_of_two_contributors_breaks_the_rule_and_the_minimum_count():
    cells = {("p0", "N1"): [40, 30], ("p0", "S1"): [30, 30, 30], ("p1", "S1"): [20, 20, 20]}
    found = margin(evidence_of(cells, "district,total\nN1,70\nS1,150\n"))
    assert found.reading.high == 0
    assert "2 contributors" in found.spots[0].note


def test_two_records_of_one_contributor_are_one_contribution():
    cells = {("p0", "N1"): [40, 30, 30], ("p1", "S1"): [20, 20, 20]}
    text = "district,total\nN1,100\n"
    assert margin(evidence_of(cells, text)).reading.low == 0.75
    holders = {"p0.N1.1": "one", "p0.N1.2": "one"}
    assert margin(evidence_of(cells, text, holders=holders)).reading.high == 0


@pytest.mark.parametrize("seed", seeds(20))
def test_the_greatest_total_is_that_of_all_tables_with_these_margins_and_own_parts(seed):
    draw = np.random.default_rng(seed)
    shape = (2, 3)
    table = draw.integers(1, 6, size=shape)
    own = np.maximum(part := draw.integers(0, table + 1), table - part)
    cells = {
        (f"p{i}", f"D{j}"): [int(own[i, j]), int(table[i, j] - own[i, j])]
        for i in range(shape[0])
        for j in range(shape[1])
    }
    rows = "".join(f"D{j},{table[:, j].sum()}\n" for j in range(shape[1]))
    found = evidence_of(cells, f"district,total\n{rows}").records.cells
    fitting = [
        each
        for numbers in product(range(int(table.sum()) + 1), repeat=2)
        if (each := completed(numbers, table)) is not None
    ]
    for position in range(shape[1], len(found.words)):
        i, j = map(
            int,
            re.fullmatch(
                r".* of node leaf (\d), in district = D(\d)", found.words[position][1]
            ).groups(),
        )
        i -= 1
        ends = [
            max(each[i, j] for each in fitting if each[place] >= own[place])
            for place in np.ndindex(shape)
        ]
        assert found.proved[position] == pytest.approx(min(ends))
        assert found.reached[position] == pytest.approx(found.proved[position], rel=1e-6)


def completed(numbers, table):
    """Return the table of 2 x 3 with these first two cells and the margins of another, None where there is none."""
    first = [*numbers, table[0].sum() - sum(numbers)]
    found = np.array([first, table.sum(axis=0) - first])
    return found if (found >= 0).all() else None


def test_a_withheld_cell_of_nothing_but_zeros_is_disclosed_where_it_follows():
    cells = {**REGIONS, ("p0", "N2"): [0, 0, 0]}
    text = "district,total\nN1,150\nN2,x\nS1,150\nS2,60\nNorth,150\n"
    assert margin(evidence_of(cells, text, CODES)).reading.high == 0


def test_what_the_table_contradicts_is_refused():
    with pytest.raises(
        OutputsError, match="the published .*total.* is 151, but the table gives 150"
    ):
        evidence_of(REGIONS, "district,total\nN1,151\n")
    with pytest.raises(OutputsError, match="the published .*mean.* is 21, but the table gives 25"):
        evidence_of(REGIONS, "district,mean\nN1,21\n")
    with pytest.raises(OutputsError, match="the published .*count.* is 7, but the table gives 6"):
        evidence_of(REGIONS, "district,total,n\nN1,150,7\n")


def test_negative_contributions_are_not_determined():
    found = margin(evidence_of({**REGIONS, ("p0", "N2"): [-9]}, "district,total\nN1,150\n")).reading
    assert "negative" in found.reason


@pytest.mark.parametrize(
    ("first", "second", "expected"), [([100, 2, 1], [90, 2, 1], 0.04), ([40, 0], [30, 0], 0)]
)
def test_a_contributor_to_one_withheld_cell_subtracts_their_part_to_estimate_another(
    first, second, expected
):
    # 196 in both cells: who adds 90 knows that the first is 106 at most, 3 + 1 beside its largest.
    cells = {
        ("p0", "N1"): first,
        ("p0", "N2"): second,
        ("p0", "S1"): [30, 50, 70],
        ("p1", "S2"): [60, 50, 40, 70],
    }
    text = "district,total\nN1,x\nN2,x\nS1,150\nS2,220\n"
    found = margin(evidence_of(cells, text)).reading
    assert (found.low, found.high) == pytest.approx((expected, expected), abs=1e-6)


def test_a_contributor_who_is_alone_in_two_cells_subtracts_both():
    cells = {
        ("p0", "N1"): [35, 5],
        ("p0", "N2"): [35, 5],
        ("p0", "N3"): [30, 2],
        ("p0", "S1"): [50, 40, 30],
        ("p1", "S2"): [60, 50, 40],
    }
    text = "district,total\nN1,x\nN2,x\nN3,x\nS1,120\nS2,150\n"
    holders = {f"p0.{district}.{number}": "H" for district in ("N1", "N2") for number in (0, 1)}
    evidence = evidence_of(cells, text, holders=holders)
    assert margin(evidence).reading.high == 0
    spot = next(spot for spot in margin(evidence).spots if spot.index == 2)
    assert spot.note == "2 contributors; its total follows exactly"


def test_a_cell_that_is_lost_in_the_rounding_of_the_largest_total_is_open():
    big = 2e11
    cells = {
        ("p0", "N1"): [20, 15, 12],
        ("p0", "N2"): [9.6, 0.2, 0.2],
        ("p0", "S1"): [big, big * 0.9, big * 0.3],
        ("p1", "S2"): [big * 0.8, big * 0.7, big * 0.5],
    }
    text = f"place,district,total\np0,N1,47.0\np0,N2,x\np0,S1,{big * 2.2:.1f}\n"
    found = margin(evidence_of(cells, text)).reading
    assert found.low == pytest.approx(0.2 / 9.6)
    assert found.high > 0.1


def test_a_district_with_a_minus_sign_of_its_own_is_read_as_its_number():
    cells = {
        ("p0", "-5"): [20, 15, 12],
        ("p0", "3"): [9, 8],
        ("p1", "3"): [7],
        ("p1", "40"): [6, 7],
    }
    plain, signed = (
        evidence_of(cells, f"district,total\n{minus}5,47\n3,x\n40,x\n").records.cells
        for minus in ("-", "−")
    )
    assert signed.proved == pytest.approx(plain.proved)
    assert signed.ranked.totals[0] == 47
