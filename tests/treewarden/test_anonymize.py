"""``treewarden anonymize``: a generalised table on disk, and what is refused."""

from __future__ import annotations

import csv
from collections import Counter

import pytest

from tests.kit.run import run_command

AGES = "[age]\ncuts = [[30, 40, 50], [40]]\n"
PLACES = "a;north;*\nb;north;*\nc;south;*\n;south;*\n".replace("\n;", "\n(missing);")


@pytest.fixture
def folder(tmp_path):
    """Write a table of 60 people and hierarchies of two of its columns."""
    rows = ["age,place,shoe,name,job"]
    for number in range(60):
        place = "abc"[number % 3] if number % 20 else ""
        rows.append(
            f"{20 + number % 40},{place},{number % 4 + 40},n{number},{'xyz'[number % 7 % 3]}"
        )
    (tmp_path / "people.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    (tmp_path / "ages.toml").write_text(AGES, encoding="utf-8")
    (tmp_path / "place.csv").write_text(PLACES, encoding="utf-8")
    return tmp_path


def anonymize(folder, *words, out="out.csv"):
    given = ["--taxonomy", folder / "ages.toml", "--taxonomy", folder / "place.csv"]
    qi = ["--qi", "age,place,shoe", "--sensitive", "job"]
    asked = ["anonymize", folder / "people.csv", *qi, *given, *words, "-o", folder / out]
    return run_command(*asked)


def written(folder):
    with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def groups_of(rows):
    found: dict[tuple, Counter] = {}
    for row in rows:
        key = row["age"], row["place"], row["shoe"]
        found.setdefault(key, Counter())[row["job"]] += 1
    return list(found.values())


def test_every_group_of_the_table_as_written_is_as_demanded(folder):
    outcome = anonymize(folder, "--k", "4", "--l", "1.5")
    assert outcome.exit_code == 0, outcome.output
    groups = groups_of(written(folder))
    assert sum(map(Counter.total, groups)) == 60
    assert min(map(Counter.total, groups)) >= 4
    assert all(max(group.values()) * 1.5 < group.total() for group in groups)


def test_recursive_diversity_holds_in_the_table_as_written(folder):
    assert anonymize(folder, "--l", "3", "--c", "4").exit_code == 0
    for group in groups_of(written(folder)):
        falling = sorted(group.values(), reverse=True)
        assert falling[0] < 4 * sum(falling[2:])


def test_it_says_the_levels_the_cost_the_groups_and_what_is_left_out(folder):
    said = anonymize(folder, "--k", "4").output
    groups = groups_of(written(folder))
    assert "age: level 3 of 3 (everything), by ages.toml" in said
    assert "place: level 1 of 2, by place.csv" in said
    assert (
        "shoe: kept unchanged (for steps in between, give a value hierarchy: --taxonomy FILE)"
        in said
    )
    assert "left out: name" in said
    assert f"lower is better): {sum(group.total() ** 2 for group in groups):,}" in said
    assert f"{len(groups):,} groups, the smallest of" in said


def test_the_records_stand_in_the_order_of_their_values(folder):
    anonymize(folder, "--k", "4")
    rows = [tuple(row.values()) for row in written(folder)]
    assert rows == sorted(rows)


def test_without_an_l_the_sensitive_values_may_all_differ(folder):
    asked = ["anonymize", folder / "people.csv", "--sensitive", "name", "--k", "60"]
    outcome = run_command(*asked, "-o", folder / "out.csv")
    assert outcome.exit_code == 0, outcome.output
    assert len({row["name"] for row in written(folder)}) == 60


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--k", "61"], "no group can hold 61 of 60 records; lower --k"),
        (["--l", "3"], "has only 3 values, so in every group one of them"),
        (["--l", "4", "--c", "2"], "has only 3 values, so no group can have 4 different values"),
        (["--l", "2.9"], "no generalisation meets the requirements: at the highest levels"),
    ],
)
def test_a_requirement_that_no_table_meets_ends_as_the_help_says(folder, words, problem):
    outcome = anonymize(folder, *words)
    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[-1].startswith("nothing is written: ")
    assert problem in outcome.stderr
    assert "lower --" in outcome.stderr
    assert not (folder / "out.csv").exists()
    assert "1  no table meets the requirements" in run_command("anonymize", "--help").stdout


@pytest.mark.parametrize("words", [["--l", "nan"], ["--l", "2", "--c", "nan"]])
def test_a_requirement_that_is_no_number_is_wrong_usage(folder, words):
    outcome = anonymize(folder, *words)
    assert (outcome.exit_code, "'nan' is not a number" in outcome.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--k", "2", "--qi", "job"], "is sensitive, so it cannot be a quasi-identifier too"),
        (["--k", "2", "--qi", "none"], "no column 'none'"),
        (["--k", "2", "--taxonomy", "{}/shoes.toml"], "people.csv:2: column 'shoe' holds '40'"),
        (["--k", "2", "--taxonomy", "{}/name.csv"], "name.csv: 'name': not a quasi-identifier"),
        (["--k", "2", "--taxonomy", "{}/none.toml"], "none.toml: there is no such file"),
        (["--k", "2", "--taxonomy", "{}/shoe.csv"], "shoe.csv: a cycle: '4"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(folder, words, problem):
    (folder / "shoes.toml").write_text('[shoe]\nlarge = ["41", "42", "43"]\n', encoding="utf-8")
    (folder / "name.csv").write_text("n0;*\n", encoding="utf-8")
    (folder / "shoe.csv").write_text("40;41;*\n41;42;*\n42;40;*\n", encoding="utf-8")
    outcome = anonymize(folder, *(word.format(folder) for word in words))
    assert outcome.exit_code == 4
    assert problem in outcome.output
    assert not (folder / "out.csv").exists()


def test_a_number_that_is_missing_is_named_by_its_line(folder):
    table = (folder / "people.csv").read_text(encoding="utf-8").splitlines()
    table[7] = "," + table[7].split(",", 1)[1]
    (folder / "people.csv").write_text("\n".join(table), encoding="utf-8")
    assert "people.csv:8: column 'age' is empty, but" in anonymize(folder, "--k", "2").output


@pytest.mark.parametrize("words", [[], ["--k", "2", "--c", "3"], ["--l", "1.5", "--c", "3"]])
def test_a_demand_that_is_none_is_wrong_usage(folder, words):
    assert anonymize(folder, *words).exit_code == 2


def test_what_is_there_is_replaced_by_force_only(folder):
    (folder / "out.csv").write_text("mine", encoding="utf-8")
    assert anonymize(folder, "--k", "2").exit_code == 4
    assert (folder / "out.csv").read_text(encoding="utf-8") == "mine"
    assert anonymize(folder, "--k", "2", "--force").exit_code == 0
    assert not list(folder.glob(".*.tmp"))


def test_an_input_is_never_overwritten(folder):
    outcome = anonymize(folder, "--k", "2", "--force", out="place.csv")
    assert "inputs are never overwritten" in outcome.output
