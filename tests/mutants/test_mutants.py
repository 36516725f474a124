"""Mutants sleep until they are named, and each changes its own expression only."""

import ast
import subprocess
import sys
from functools import cache

import pytest

from tests.kit.places import ROOT
from tests.mutants.__main__ import _tests_of
from tests.mutants.choosing import AREAS, Mutant, candidates, chosen, of_area
from tests.mutants.copying import Records, keep_current
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.mutations import mutations_of
from tests.mutants.switching import SWITCH, sites_of, with_mutants

SOURCE = '''"""What it is."""

from __future__ import annotations

LIMIT = 3


def is_small(value: int, most: int = 5) -> bool:
    """Say whether a value is small."""
    if value < 0:
        raise ValueError(f"{value + 1}")
    return value < most and value != LIMIT
'''
EXPRESSIONS = {
    "a < b": {"a <= b"},
    "a == b": {"a != b"},
    "a < b <= c": {"a <= b <= c", "a < b < c"},
    "a and b": {"a", "b", "a or b"},
    "not a": {"a"},
    "-a": {"a"},
    "a + b": {"a - b"},
    "a * 2": {"a / 2", "3"},
    "reading.low": {"reading.high"},
    "max(a)": {"min(a)"},
    "np.floor(a)": {"np.ceil"},
    "x.floor": set(),
    "f'{a + b}'": set(),
}


@pytest.mark.parametrize(("text", "mutants"), EXPRESSIONS.items())
def test_an_expression_has_the_mutants_that_its_kind_says(text, mutants):
    module = ast.parse(f"def f():\n    return {text}")
    assert {ast.unparse(mutation.mutant) for _, mutation in sites_of(module)} == mutants


def outcome(number):
    """Return what the function of SOURCE says of some values, with a mutant awake."""
    places = range(len(list(sites_of(ast.parse(SOURCE)))))
    values = "[is_small(value) for value in (0, 3, 4, 5, 6)]"
    switch = (
        f"import sys, types\nm = types.ModuleType('mutant_switch')\nexec({SWITCH!r}, m.__dict__)\n"
    )
    switch += f"m.awake = {number}\nsys.modules['mutant_switch'] = m\n"
    built = with_mutants(SOURCE, {place: place + 1 for place in places})
    program = f"{switch}exec({built!r})\nprint({values})"
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    ).stdout.strip()


def test_with_no_mutant_awake_a_module_does_what_it_did():
    assert outcome(0) == "[True, False, True, False, False]"


def test_each_mutant_awake_changes_what_its_expression_says():
    texts = [str(mutation) for _, mutation in sites_of(ast.parse(SOURCE))]
    assert len(texts) == 7
    flipped = texts.index("comparison: value < most -> value <= most") + 1
    assert outcome(flipped) == "[True, False, True, True, False]"
    swapped = texts.index(
        "and/or: value < most and value != LIMIT -> value < most or value != LIMIT"
    )
    assert outcome(swapped + 1) == "[True, True, True, True, True]"


def test_messages_and_defaults_have_no_mutants():
    texts = [str(mutation) for _, mutation in sites_of(ast.parse(SOURCE))]
    assert not [text for text in texts if "value + 1" in text or "5" in text]


@cache
def of_today():
    """Return the chosen mutants of this checkout."""
    return chosen(ROOT)


def test_three_hundred_mutants_are_chosen_in_every_area():
    mutants = of_today()
    assert len(mutants) >= 300
    assert {mutant.area for mutant in mutants} == set(AREAS)
    assert [mutant.number for mutant in mutants] == list(range(1, len(mutants) + 1))
    assert len({mutant.key for mutant in mutants}) == len(mutants)


def test_the_same_mutants_are_chosen_again():
    assert of_area(ROOT, "rules", AREAS["rules"]) == of_area(ROOT, "rules", AREAS["rules"])


def test_a_name_has_no_mutants():
    assert not list(mutations_of(ast.parse("name", mode="eval").body))


def test_each_mutant_that_is_said_to_change_nothing_is_one_that_may_be_chosen():
    keys = {each.key for name, area in AREAS.items() for each in candidates(ROOT, name, area)}
    assert [key for key in EQUIVALENT if not any(each.endswith(key) for each in keys)] == []


def mutant(number, path, text="a < b -> a <= b"):
    return Mutant(number, "rules", path, "f", 0, 1, text)


def reach(test, *numbers):
    return {"test": test, "tier": "quick", "seconds": 1, "passed": True, "reached": list(numbers)}


def result(key, killer=None, tried=()):
    return {"key": key, "tier": "quick", "killer": killer, "tried": list(tried)}


OLD = [mutant(1, "a.py"), mutant(2, "b.py")]
RECORDS = Records(
    reach=[reach("test_a.py::one", 1), reach("test_b.py::two", 1, 2), reach("test_c.py::three")],
    recorded=[{"path": f"test_{name}.py", "tier": "quick"} for name in "abc"],
    results=[
        result(OLD[0].key, killer="test_b.py::two"),
        result(OLD[1].key, tried=["test_a.py::one", "test_b.py::two"]),
    ],
)


def kept(changed=(), tests=(), new=OLD):
    return keep_current(RECORDS, changed=set(changed), tests=set(tests), old=OLD, new=list(new))


def test_what_was_measured_stays_where_nothing_changed_that_it_rests_on():
    assert kept() == RECORDS
    assert kept(changed={"c.py"}) == RECORDS


def test_of_a_file_of_tests_that_changed_all_is_measured_again_and_nothing_else():
    left = kept(tests={"test_b.py"})
    assert left.reach == [RECORDS.reach[0], RECORDS.reach[2]]
    assert [line["path"] for line in left.recorded] == ["test_a.py", "test_c.py"]
    assert left.results == [result(OLD[1].key, tried=["test_a.py::one"])]


def test_of_a_module_that_changed_its_mutants_are_tried_again():
    left = kept(changed={"b.py"})
    assert (left.reach, left.recorded) == (RECORDS.reach, RECORDS.recorded)
    assert left.results == [RECORDS.results[0]]


def test_mutants_that_are_numbered_otherwise_are_the_same():
    left = kept(new=[mutant(2, "a.py"), mutant(1, "b.py")])
    assert [line["reached"] for line in left.reach] == [[2], [1, 2], []]
    assert left.results == RECORDS.results


def test_who_evaluates_a_mutant_that_is_new_is_recorded_again():
    left = kept(changed={"b.py"}, new=[*OLD, mutant(3, "b.py", "c < d -> c <= d")])
    assert left.reach == [RECORDS.reach[0], RECORDS.reach[2]]
    assert [line["path"] for line in left.recorded] == ["test_a.py", "test_c.py"]


def test_the_tests_nearest_to_a_mutant_are_tried_first_and_of_them_the_shortest():
    tests = {
        name: {"passed": True, "reached": {7}, "seconds": seconds}
        for name, seconds in [
            ("tests/far/test_a.py::f", 0.1),
            ("tests/rooms/test_b.py::f", 0.2),
            ("tests/rooms/deep/test_c.py::g", 0.4),
            ("tests/rooms/deep/test_c.py::h", 0.3),
            ("tests/far/test_d.py::f", 9.0),
        ]
    }
    of_room = Mutant(7, "rules", "rooms/deep/a.py", "f", 0, 1, "a < b -> a <= b")
    found, left = _tests_of(of_room, tests, set(), 2.0)
    assert [name.partition("_")[2] for name in found] == [
        "c.py::h",
        "c.py::g",
        "b.py::f",
        "a.py::f",
    ]
    assert left == 1
