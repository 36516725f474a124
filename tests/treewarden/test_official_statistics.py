"""A model of numbers under the rules of official statistics, from the command line and in Python."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.tree import DecisionTreeRegressor

import treewarden as tw
from tests.kit.run import run_command
from treewarden.policies.verdict import Verdict

FIRMS = pd.DataFrame(
    {
        "size": [1] * 6 + [2] * 6,
        # The first leaf is dominated by 900; the second is even, and half of it is one holding's.
        "turnover": [900, 20, 20, 20, 20, 20, 60, 50, 40, 30, 30, 30],
        "holding": ["a", "b", "c", "d", "e", "f", "g", "g", "g", "h", "h", "i"],
    }
)


def audited(firms, **more):
    tree = DecisionTreeRegressor(max_depth=1).fit(firms[["size"]], firms["turnover"])
    return tw.audit(
        tree, firms, sensitive="turnover", policy="official-statistics", worlds_budget=1, **more
    )


def readings(result):
    return {finding.clause: finding.reading.low for finding in result._decision.findings}


def test_leaf_totals_are_judged_as_cells_of_a_table():
    found = readings(audited(FIRMS))
    assert found["contributors"] == 6
    assert found["p-percent"] == pytest.approx(80 / 900)
    assert found["dominance"] == pytest.approx(0.92)


def test_records_of_one_holding_are_one_contribution():
    result = audited(FIRMS, id="holding")
    found = readings(result)
    assert found["contributors"] == 3
    assert any("2 contributors have several records ('holding')" in w for w in result.warnings)


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
    assert {verdicts[name] for name in ("contributors", "p-percent", "dominance")} == {Verdict.PASS}


def test_data_that_is_not_there_has_no_column():
    with pytest.raises(tw.TreewardenError, match="id"):
        tw.audit(b"{}", None, id="holding")
