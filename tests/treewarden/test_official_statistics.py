"""A model of numbers under the rules of official statistics, from the command line and in Python."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import treewarden as tw
from tests.kit.run import run_command
from treewarden.policies.verdict import PolicyVerdict
from treewarden.terminal.outputs import NextStep, without_repeats

FIRMS = pd.DataFrame(
    {
        "size": [1] * 6 + [2] * 6,
        # The first leaf is dominated by 900; the second is even, and half of it is one holding's.
        "turnover": [900, 20, 20, 20, 20, 20, 60, 50, 40, 30, 30, 30],
        "holding": ["a", "b", "c", "d", "e", "f", "g", "g", "g", "h", "h", "i"],
    }
)


def grown(firms):
    return DecisionTreeRegressor(max_depth=1).fit(firms[["size"]], firms["turnover"])


def audited(firms, **more):
    tree = grown(firms)
    state = tree.tree_.__getstate__()
    state["nodes"]["impurity"] = 0  # what redact does in a file: no variances
    tree.tree_.__setstate__(state)
    return tw.audit(
        tree, firms, sensitive="turnover", policy="official-statistics", worlds_budget=1, **more
    )


def readings(result):
    return {finding.clause: finding.reading.low for finding in result._decision.findings}


def test_a_failing_table_of_totals_is_changed_first_and_no_repair_is_offered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    firms = pd.DataFrame({"size": [1] * 12, "area": list("aaaaaabbbbbb")})
    firms["turnover"] = [900, 20, 20, 20, 20, 20, 60, 50, 40, 30, 30, 300]
    firms.to_csv("firms.csv", index=False)
    tree = DecisionTreeRegressor(max_depth=1).fit(firms[["size"]], firms["turnover"])
    (tmp_path / "firms.skops").write_bytes(skops.io.dumps(tree))
    totals = firms.groupby("area").turnover.sum().reset_index(name="total")
    totals.to_csv("totals.csv", index=False)
    policy = "".join(
        ['name = "cells"\nversion = "1"\ntitle = "Cells"\n[[check]]\nid = "cells"\n']
        + ['measure = "cell_protection"\nrule = "at_least"\nlimit = 0.1\n']
    )
    (tmp_path / "cells.toml").write_text(policy)
    words = ("audit", "firms.skops", "--data", "firms.csv", "--sensitive", "turnover")
    words += (
        "--qi",
        "size,area",
        "--with",
        "totals.csv",
        "--policy",
        "cells.toml",
    )
    outcome = run_command(*words)
    assert outcome.exit_code == 1, outcome.output
    steps = " ".join(outcome.stdout.partition("\nNext\n")[2].split())
    assert steps.startswith("1. Change the tables that are published with the model")
    assert "(totals.csv)" in steps
    assert "treewarden repair" not in steps
    shown = " ".join(run_command(*words, "--verbose").stdout.split())
    assert "To fix cells: change the tables" in shown
    assert "“treewarden repair”" not in shown


def test_a_check_whose_limit_lies_between_its_ends_has_a_next_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    firms = pd.DataFrame({"size": draws.integers(1, 5, 80), "area": draws.integers(1, 5, 80)})
    firms["turnover"] = draws.integers(10, 60, 80)
    firms.to_csv("firms.csv", index=False)
    tree = DecisionTreeRegressor(max_leaf_nodes=4).fit(firms[["size"]], firms["turnover"])
    (tmp_path / "firms.skops").write_bytes(skops.io.dumps(tree))
    policy = 'name = "close"\nversion = "1"\ntitle = "Close"\n[[check]]\nid = "values"\n'
    policy += 'measure = "value_disclosure"\nrule = "at_most"\nlimit = 0\n'
    (tmp_path / "close.toml").write_text(policy + "parameters = { within = 0.97 }\n")
    words = ("audit", "firms.skops", "--data", "firms.csv", "--sensitive", "turnover")
    outcome = run_command(*words, "--policy", "close.toml", "--worlds-budget", "0")
    assert outcome.exit_code == 3, outcome.output
    steps = outcome.stdout.partition("\nNext\n")[2]
    assert steps.lstrip().startswith("1. Remove the variances of the leaves"), steps
    assert "treewarden redact firms.skops -o firms-redacted.skops" in steps
    firms["w"] = draws.integers(1, 9, 80) / 4
    firms.to_csv("firms.csv", index=False)
    tree.fit(firms[["size"]], firms["turnover"], sample_weight=firms["w"])
    (tmp_path / "saved.skops").write_bytes(skops.io.dumps(tree))
    run_command("redact", "saved.skops", "-o", "weighed.skops")
    words = ("audit", "weighed.skops", *words[2:], "--sampling-weights", "w")
    outcome = run_command(*words, "--policy", "close.toml", "--worlds-budget", "0")
    assert "1. Give the search more time" in outcome.stdout, outcome.output


def test_leaf_totals_are_judged_as_cells_of_a_table():
    found = readings(audited(FIRMS))
    assert found["contributors"] == 6
    assert found["p-percent"] == pytest.approx(80 / 900)
    assert found["dominance"] == pytest.approx(0.92)


def test_records_of_one_holding_are_one_contribution():
    result = audited(FIRMS, id="holding")
    found = readings(result)
    assert found["contributors"] == 3
    assert any(
        "2 people or firms have several records (column 'holding')" in w for w in result.warnings
    )


def test_the_command_takes_whose_record_each_is(tmp_path):
    firms, model = tmp_path / "firms.csv", tmp_path / "firms.skops"
    FIRMS.to_csv(firms, index=False)
    tree = DecisionTreeRegressor(max_depth=1).fit(FIRMS[["size"]], FIRMS["turnover"])
    model.write_bytes(skops.io.dumps(tree))
    words = [
        "audit",
        model,
        "--data",
        firms,
        "--sensitive",
        "turnover",
        "--policy",
        "official-statistics",
        "--format",
        "json",
    ]
    outcome = run_command(*words, "--id", "holding", "-q")
    document = json.loads(outcome.stdout)
    found = {finding["clause"]: finding for finding in document["findings"]}
    assert found["contributors"]["value"]["low"] == 3
    outcome = run_command(*words, "--id", "owner")
    assert (outcome.exit_code, "no column 'owner'" in outcome.output) == (4, True)
    outcome = run_command("audit", model, "--no-table", "--id", "holding")
    assert outcome.exit_code == 2
    assert "--id names a column of the table" in outcome.output


def test_a_safe_table_passes_its_rules():
    firms = pd.DataFrame({"size": np.repeat([1, 2], 20), "turnover": np.tile(np.arange(20, 40), 2)})
    verdicts = {finding.clause: finding.verdict for finding in audited(firms)._decision.findings}
    assert {verdicts[name] for name in ("contributors", "p-percent", "dominance")} == {
        PolicyVerdict.PASS
    }


THREE = pd.DataFrame({"size": [1] * 3 + [2] * 3, "turnover": [50.0, 40.0, 35.0, 5.0, 12.0, 21.5]})


def test_variances_in_a_skops_file_break_the_p_percent_rule_until_they_are_removed(tmp_path):
    THREE.to_csv(tmp_path / "firms.csv", index=False)
    saved, bare = tmp_path / "saved.skops", tmp_path / "bare.skops"
    saved.write_bytes(skops.io.dumps(grown(THREE)))
    words = ("--data", tmp_path / "firms.csv", "--sensitive", "turnover", "-q")
    words += ("--policy", "official-statistics")
    outcome = run_command("audit", saved, *words)
    assert outcome.exit_code == 1
    assert "1. Remove the variances of the leaves" in outcome.output
    assert "p-percent" in outcome.output.partition("Passed")[0]
    assert run_command("redact", saved, "-o", bare).exit_code == 0
    tree = skops.io.load(bare, trusted=["sklearn.tree._tree.Tree"])
    assert not tree.tree_.impurity.any()
    assert tree.predict(THREE[["size"]]).tolist() == grown(THREE).predict(THREE[["size"]]).tolist()
    outcome = run_command("audit", bare, *words)
    assert outcome.exit_code == 0, outcome.output


def test_other_impurities_leave_the_p_percent_rule_open():
    tree = DecisionTreeRegressor(max_depth=1, criterion="poisson")
    tree.fit(THREE[["size"]], THREE["turnover"])
    result = tw.audit(tree, THREE, sensitive="turnover", policy="official-statistics")
    (finding,) = (each for each in result._decision.findings if each.clause == "p-percent")
    assert finding.verdict is PolicyVerdict.UNDETERMINED
    assert "publish the tree as PMML" in result.to_json()


def test_a_tree_of_numbers_grown_under_a_policy_keeps_no_variances():
    pytest.importorskip("sklearn")
    from treewarden.learn import PolicyTreeRegressor

    draws = np.random.default_rng(0)
    firms = pd.DataFrame({"size": draws.integers(1, 8, 400)})
    turnover = np.round(firms["size"] * 20 + draws.gamma(2, 10, 400), 1)
    tree = PolicyTreeRegressor(policy="official-statistics", random_state=1).fit(firms, turnover)
    assert tree.tree_.node_count > 1
    assert tree.verdict_ == "PASS"
    assert not tree.tree_.impurity.any()


def test_data_that_is_not_there_has_no_column():
    with pytest.raises(tw.TreewardenError, match="id"):
        tw.audit(b"{}", None, id="holding")


def test_a_redacted_tree_of_large_leaves_passes_all_rules(tmp_path):
    draws = np.random.default_rng(3)
    firms = pd.DataFrame({"size": draws.integers(1, 250, 900)})
    firms["turnover"] = np.round(firms["size"] * draws.lognormal(4, 0.8, 900))
    firms.to_csv(tmp_path / "firms.csv", index=False)
    tree = DecisionTreeRegressor(min_samples_leaf=30).fit(firms[["size"]], firms["turnover"])
    (tmp_path / "saved.skops").write_bytes(skops.io.dumps(tree))
    assert run_command("redact", tmp_path / "saved.skops", "-o", tmp_path / "bare.skops")
    words = ("--data", tmp_path / "firms.csv", "--sensitive", "turnover", "-q")
    outcome = run_command(
        "audit", tmp_path / "bare.skops", *words, "--policy", "official-statistics"
    )
    assert outcome.exit_code == 0, outcome.output


def test_leaves_of_several_trees_are_linked_cells_and_judged_with_a_table_of_totals(tmp_path):
    """Two people have a = b = 1: the totals of both trees give theirs, 90, and 40 knows that the other has 50."""
    firms = pd.DataFrame({"a": [0] * 20 + [1] * 22, "b": [1] * 20 + [0] * 20 + [1, 1]})
    draws = np.random.default_rng(0)
    firms["turnover"] = [*draws.integers(10, 100, 20), *draws.integers(5, 90, 20), 50, 40]
    firms.to_csv(tmp_path / "firms.csv", index=False)
    options = {"n_estimators": 2, "max_depth": 1, "bootstrap": False, "max_features": 1}
    for seed in range(20):
        forest = RandomForestRegressor(**options, random_state=seed)
        forest.fit(firms[["a", "b"]], firms.turnover)
        if len({tree.tree_.feature[0] for tree in forest.estimators_}) == 2:
            break
    forest.random_state = None
    (tmp_path / "saved.skops").write_bytes(skops.io.dumps(forest))
    assert run_command("redact", tmp_path / "saved.skops", "-o", tmp_path / "m.skops")
    words = ("audit", tmp_path / "m.skops", "--data", tmp_path / "firms.csv", "-q")
    words += ("--sensitive", "turnover", "--policy", "official-statistics")
    outcome = run_command(*words)
    assert outcome.exit_code == 3, outcome.output
    assert "1. Publish one tree, or audit with a table of totals" in outcome.output
    totals = firms.groupby("a").turnover.sum().reset_index(name="total")
    totals.to_csv(tmp_path / "totals.csv", index=False)
    outcome = run_command(*words, "--with", tmp_path / "totals.csv")
    assert outcome.exit_code == 1, outcome.output
    assert "cells" in outcome.output.partition("Passed")[0]


def test_a_large_interval_is_told_without_an_exponent(tmp_path):
    draws = np.random.default_rng(3)
    firms = pd.DataFrame({"size": draws.integers(1, 9, 80)})
    firms["turnover"] = draws.integers(20_000, 900_000, 80)
    firms.to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "saved.skops").write_bytes(skops.io.dumps(grown(firms)))
    words = ("--data", tmp_path / "firms.csv", "--sensitive", "turnover", "-q")
    words += ("--policy", "official-statistics")
    told = " ".join(run_command("audit", tmp_path / "saved.skops", *words).stdout.split())
    assert re.search(r"an interval of \d{2,3},\d{3} \(all numbers: \d{3},\d{3}\)", told), told


def test_two_steps_of_one_command_are_told_once():
    command = "treewarden redact tree.skops -o tree-redacted.skops"
    first, other = NextStep("Remove what is outside the trees:", command), NextStep("Think.")
    steps = [other, first, NextStep("Remove the variances of the leaves:", command), other]
    assert without_repeats(steps) == (other, first, other)
