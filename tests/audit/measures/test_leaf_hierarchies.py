"""Inner nodes are sub-totals of a hierarchy of cells: where every leaf keeps a rule of magnitude tables, so do they."""

import random

from tests.judges.magnitude_rules import breaks_dominance, breaks_frequency, breaks_p_percent

RULES = {
    "dominance (2, 85)": lambda cell: breaks_dominance(cell, 2, 85),
    "dominance (1, 60)": lambda cell: breaks_dominance(cell, 1, 60),
    "p % (10)": lambda cell: breaks_p_percent(cell, 10),
    "frequency 3": lambda cell: breaks_frequency(cell, 3),
}


def amounts(cells):
    """Return what each contributor adds to the sum of cells, in which one may have several parts."""
    total = {}
    for cell in cells:
        for who, amount in cell.items():
            total[who] = total.get(who, 0) + amount
    return list(total.values())


def test_a_hierarchy_worked_by_hand():
    # Total = A + B and A = A1 + A2, as in sdcTable's hierarchies; each firm is in one cell.
    first, second = {"a": 50, "b": 30, "c": 20}, {"d": 40, "e": 25, "f": 20, "g": 15}
    third = {"h": 60, "i": 30, "j": 10}
    is_dominated, is_close = RULES["dominance (2, 85)"], RULES["p % (10)"]
    cells = {"A1": [first], "A2": [second], "B": [third], "A": [first, second]}
    cells["Total"] = [first, second, third]
    # 80 of 100, 65 of 100, 90 of 100, 90 of 200 and 110 of 300
    assert [n for n, parts in cells.items() if is_dominated(amounts(parts))] == ["B"]
    # what is left of B, 10, is more than a tenth of 60
    assert [n for n, parts in cells.items() if is_close(amounts(parts))] == []


def test_no_sub_total_breaks_what_all_its_cells_keep_even_if_firms_are_in_several():
    draw, tried = random.Random(0), dict.fromkeys(RULES, 0)
    for _ in range(3000):
        firms = range(draw.randint(3, 6))
        cells = [
            {
                f: draw.choice((1, 2, 5, 9, 30))
                for f in draw.sample(firms, draw.randint(3, len(firms)))
            }
            for _ in range(draw.randint(2, 3))
        ]
        for name, breaks in RULES.items():
            if any(breaks(list(cell.values())) for cell in cells):
                continue
            tried[name] += 1
            assert not breaks(amounts(cells)), (name, cells)
    assert min(tried.values()) > 100, tried
