"""Adversaries who know some columns only, of tables in which columns say more than their names do."""

import csv
import json

import numpy as np
import pytest

from tests.kit.run import run_command

GINI = {"criterion": "gini", "min_leaf_records": 1}


def text(name, *values):
    return {"name": name, "type": "categorical", "values": list(values)}


def audited(folder, model, table, *words):
    """Return the exit code and what is told of each adversary, by name."""
    (folder / "model.json").write_text(
        json.dumps({"format": "treewarden-tree", "version": 1, "target": "class", **model})
    )
    header, *rows = table
    lines = [",".join(map(str, row)) for row in (header, *rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    given = ["audit", str(folder / "model.json"), "--data", str(folder / "table.csv")]
    asked = ["--sensitive", "class", "--format", "json", *words]
    done = run_command(*given, *asked)
    assert done.exit_code in (0, 1, 3), done.output
    return done.exit_code, {each["name"]: each for each in json.loads(done.stdout)["adversaries"]}


def split(name, values, left, right, **more):
    """Return a model with one split on a column of two values, and how many of each class are on either side."""
    classes = [f"k{place}" for place in range(len(left))]

    def node(number, counts, **others):
        held = dict(zip(classes, counts, strict=True))
        score = max(held, key=held.get)
        return {
            "id": number,
            "records": sum(counts),
            "score": score,
            "class_counts": held,
            **others,
        }

    def test(value):
        return {"kind": "category", "feature": name, "values": [value]}

    nodes = [
        node("0", [sum(each) for each in zip(left, right, strict=True)]),
        node("1", left, parent="0", test=test(values[0])),
        node("2", right, parent="0", test=test(values[1])),
    ]
    return {"classes": classes, "features": [text(name, *values)], "nodes": nodes, **more}


def ends(adversary, measure):
    found = adversary["readings"][measure]
    return found["low"], found["high"]


@pytest.fixture
def forty():
    """Return a tree of 40 people and their table, in which columns say what race and income are, each in its way."""
    rows = [
        (
            "pq"[at // 20],
            "low" if at % 2 else "high",
            1000 + at if at % 2 else 60000 + at,
            f"race{at % 2}",
            f"code{at % 2}",
            f"k{at // 2 % 2}",
        )
        for at in range(40)
    ]
    header = ("x", "bracket", "income", "race", "racecode", "class")
    return split("x", "pq", (10, 10), (10, 10)), [header, *rows]


@pytest.mark.parametrize(
    "words",
    [
        ("--secret", "race", "--knows", "racecode"),
        ("--secret", "income", "--bins", "50000", "--knows", "bracket"),
        ("--secret", "bracket", "--knows", "income"),
    ],
    ids=["its value", "its bin", "by numbers that lie together"],
)
def test_a_known_column_that_says_the_secret_never_passes(tmp_path, forty, words):
    code, by = audited(tmp_path, *forty, *words)
    assert code == 3
    assert {each["verdict"] for each in by.values()} == {"UNDETERMINED"}
    assert ends(by[f"who knows {words[-1]}"], "certain_disclosure") == (0, 40)


@pytest.mark.parametrize("marks", [("True", "False"), ("1", "0")])
def test_indicators_of_the_secret_s_attribute_never_pass(tmp_path, marks):
    yes, no = marks
    rows = [
        (*(yes if at % 3 == each else no for each in range(3)), f"k{at % 2}") for at in range(60)
    ]
    model = split("city_A", (yes, no), (10, 10), (20, 20))
    model["features"] += [text("city_B", yes, no), text("city_C", yes, no)]
    table = [("city_A", "city_B", "city_C", "class"), *rows]
    code, _ = audited(tmp_path, model, table, "--secret", "city_A", "--knows", "city_B,city_C")
    assert code == 3


def test_a_known_field_that_is_left_out_of_the_quasi_identifiers_counts_all_the_same(tmp_path):
    # Were the one person with u a k1, splitting on x would leave nothing impure: she is certainly a k0.
    model = split("s", "ab", (2, 0), (1, 1), learner=GINI)
    model["features"].append(text("x", "u", "v"))
    rows = [("a", "u", "k0"), ("a", "v", "k0"), ("b", "v", "k0"), ("b", "v", "k1")]
    table = [("s", "x", "class"), *rows]
    _, by = audited(tmp_path, model, table, "--qi", "s", "--knows", "x")
    assert by["who knows x"]["knows"] == ["x"]
    low, high = ends(by["who knows x"], "certain_disclosure")
    assert low == 0
    assert high >= 1


def test_splits_on_a_column_that_is_partly_given_away_may_prove_more(tmp_path):
    # Were a k1 among the 14 with z1, splitting on h would leave less impure than the split on s does.
    model = split("s", "ab", (15, 0), (15, 1), learner=GINI)
    model["features"].append(text("h", "r", "t"))
    told = [("r", "z1")] * 14 + [("t", "z2")] * 16 + [("t", "z3")]
    rows = [(*("a" if at % 2 else "b", *each), "k0") for at, each in enumerate(told)]
    rows[-1] = (*rows[-1][:-1], "k1")
    table = [("s", "h", "z", "class"), *rows]
    _, by = audited(tmp_path, model, table, "--knows", "z")
    low, high = ends(by["who knows z"], "certain_disclosure")
    assert low == 0
    assert high >= 14


def test_a_class_that_nobody_has_is_nobody_s(tmp_path):
    model = split("s", "ab", (2, 1, 0), (1, 2, 0))
    model["features"].append(text("x", "p", "q"))
    rows = [("a", "p", "k0"), ("a", "q", "k0"), ("a", "p", "k1")]
    rows += [("b", "q", "k0"), ("b", "p", "k1"), ("b", "q", "k1")]
    words = ("--secret", "s", "--split", "none")
    _, by = audited(tmp_path, model, [("s", "x", "class"), *rows], *words)
    found = by["who knows all else"]
    # Two of the three k0 are on the left, and one of the three k1.
    assert ends(found, "confidence") == pytest.approx((2 / 3, 2 / 3))
    assert ends(found, "certain_disclosure") == (0, 0)


def test_a_number_that_the_model_takes_for_missing_may_be_anybody_s(tmp_path):
    # Above 10 is taken for missing, and goes where 1 and below do: so nobody there is certainly below 3.
    model = split("x", "ab", (3, 0), (0, 3), missing="default-child")
    treatment = {"intervals": [{"high": 10.0, "high_closed": True}], "when_invalid": "as-missing"}
    model["features"] = [{"name": "x", "type": "numeric", "treatments": [treatment]}]
    root, left, right = model["nodes"]
    root["default_child"] = "1"
    left["test"] = {"kind": "interval", "feature": "x", "high": 1.0, "high_closed": True}
    right["test"] = {"kind": "interval", "feature": "x", "low": 1.0}
    rows = [(0, "k0"), (1, "k0"), (0.5, "k0"), (2, "k1"), (4, "k1"), (5, "k1")]
    words = ("--secret", "x", "--bins", "3", "--split", "none")
    _, by = audited(tmp_path, model, [("x", "class"), *rows], *words)
    assert ends(by["who knows all else"], "certain_disclosure") == (0, 0)
    model["features"][0].pop("treatments")
    _, by = audited(tmp_path, model, [("x", "class"), *rows], *words)
    assert ends(by["who knows all else"], "certain_disclosure") == (3, 3)


def test_a_known_column_that_says_where_a_hidden_number_leads_is_used(tmp_path):
    # Nobody's income is known, but who knows the bracket knows the branch: ten of ten, and five of ten.
    model = split("income", "ab", (20, 0), (10, 10))
    model["features"] = [{"name": "income", "type": "numeric"}]
    left, right = model["nodes"][1:]
    left["test"] = {"kind": "interval", "feature": "income", "high": 50.0, "high_closed": True}
    right["test"] = {"kind": "interval", "feature": "income", "low": 50.0}
    rows = [(50 - at, "low", "k0") for at in range(20)]
    rows += [(51 + at, "high", f"k{at % 2}") for at in range(20)]
    _, by = audited(tmp_path, model, [("income", "bracket", "class"), *rows], "--knows", "bracket")
    found = by["who knows bracket"]
    assert ends(found, "certain_disclosure") == (20, 20)
    assert ends(found, "confidence")[1] == 1


def test_who_knows_the_outcome_alone_is_not_said_to_know_more_where_nothing_is_told(tmp_path):
    model = split("s", "ab", (2, 1), (1, 2))
    rows = [("a", "k0"), ("a", "k0"), ("a", "k1"), ("b", "k0"), ("b", "k1"), ("b", "k1")]
    (tmp_path / "who.toml").write_text('name = "her boss"\nknows = []\ntarget = true\n')
    words = ("--secret", "s", "--leaf", "labels", "--adversary", str(tmp_path / "who.toml"))
    # What the choice of splits says is not used where classes are not counted.
    _, by = audited(tmp_path, model, [("s", "class"), *rows], *words, "--split", "gini")
    assert by["her boss"]["knows"] == []
    assert by["her boss"]["readings"]["confidence"]["low"] is None
    _, by = audited(tmp_path, model, [("s", "class"), *rows], *words, "--split", "none")
    assert by["her boss"]["readings"]["confidence"]["low"] == pytest.approx(0.5)


def test_a_posterior_has_one_name_for_each_of_its_columns_whatever_somebody_knows(tmp_path, forty):
    model, table = forty
    audited(tmp_path, model, table)  # writes the files
    path = tmp_path / "posterior.csv"
    given = [str(tmp_path / "model.json"), "--data", str(tmp_path / "table.csv")]
    asked = ["--sensitive", "class", "--secret", "race", "--knows", "x", "--posterior", str(path)]
    run_command("audit", *given, *asked, "--split", "none")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    # The target, which is called class, is known to the first only; the secret's values stand in a column of ours.
    assert {row["class_"] for row in rows} == {"race0", "race1"}
    known = {row["adversary"]: row["class"] for row in rows}
    assert known["who knows x"] == ""
    assert known["who knows all else"] in ("k0", "k1")


@pytest.mark.parametrize("size", [3, 10])
@pytest.mark.parametrize("kind", ["p", ""])
def test_a_code_of_many_values_gives_a_column_away_though_each_value_is_of_few(
    tmp_path, kind, size
):
    # By itself no code says enough of a coin's side; all of them together are no chance.
    codes = 210 // size // 2 * 2
    rows = [
        (f"{kind}{at % codes}", "uv"[at % codes % 2], f"k{at // codes % 2}")
        for at in range(size * codes)
    ]
    model = split("h", "uv", _halves(rows, "u"), _halves(rows, "v"))
    table = [("code", "h", "class"), *rows]
    words = ("--secret", "h", "--knows", "code", "--split", "none")
    _, by = audited(tmp_path, model, table, *words)
    assert by["who knows code"]["verdict"] == "UNDETERMINED"
    assert ends(by["who knows code"], "certain_disclosure") == (0, len(rows))


def test_few_values_that_agree_by_chance_give_nothing_away(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        (f"p{at // 2}", "uv"[side], f"k{at % 2}")
        for at, side in enumerate(rng.integers(2, size=200))
    ]
    sides = [row[1] for row in rows].count("u")
    model = split("h", "uv", _halves(rows, "u"), _halves(rows, "v"))
    words = ("--secret", "h", "--knows", "code", "--split", "none")
    _, by = audited(tmp_path, model, [("code", "h", "class"), *rows], *words)
    assert 0 < sides < 200
    assert ends(by["who knows code"], "certain_disclosure") == (0, 0)
    assert by["who knows code"]["knows"] == ["code"]


def _halves(rows, side):
    return tuple(sum(row[1:] == (side, each) for row in rows) for each in ("k0", "k1"))
