"""Outputs beside a model through every door: Python, command line; and what cannot be judged together."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.kit.run import run_command
from treewarden.audit.option_spec import OptionDoor
from treewarden.jobs.attesting.attesting import unstated_options
from treewarden.jobs.audit_request import AuditFiles, Request, files_of
from treewarden.ppdm_models.errors import OutputsError, TreewardenError

sklearn_tree = pytest.importorskip("sklearn.tree")
TABLE = pd.DataFrame(
    {
        "age": [30, 60, 45, 40, 50, 35],
        "side": [0, 0, 0, 1, 1, 1],
        "ill": ["yes", "yes", "no", "yes", "no", "no"],
    }
)
MEAN = pd.DataFrame({"": ["age, mean"], "yes": ["43.3"]})


@pytest.fixture(scope="module")
def tree():
    model = sklearn_tree.DecisionTreeClassifier(max_depth=1)
    return model.fit(TABLE[["side"]], TABLE.ill)


def audited(model, **more):
    return tw.audit(model, TABLE, sensitive="ill", qi=["age", "side"], policy="standard", **more)


def proved(result):
    return result.readings.loc["certain_disclosure"].low


def test_a_tree_and_a_mean_prove_together_what_neither_proves_alone(tree):
    assert proved(audited(tree)) == 0
    assert proved(audited(tree, beside=[MEAN])) == 6


def test_a_forest_and_a_mean_prove_the_same():
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(2, max_depth=1, bootstrap=False, random_state=0)
    forest.fit(TABLE[["side"]], TABLE.ill)
    assert proved(audited(forest)) == 0
    assert proved(audited(forest, beside=[MEAN])) == 6


def test_a_number_that_the_table_contradicts_stops_the_audit(tree):
    wrong = MEAN.assign(yes="43.4")
    with pytest.raises(OutputsError, match="but the table gives 43.3333"):
        audited(tree, beside=[wrong])


def test_a_column_that_the_adversary_does_not_know_is_refused(tree):
    with pytest.raises(OutputsError, match="name further columns with qi="):
        tw.audit(tree, TABLE, sensitive="ill", policy="standard", beside=[MEAN])


def test_outputs_beside_other_questions_are_refused_not_forgotten(tree, tmp_path):
    with pytest.raises(OutputsError, match="adversaries"):
        audited(tree, beside=[MEAN], knows=["age"])
    with pytest.raises(OutputsError, match="one model"):
        audited(tree, beside=[MEAN], earlier=[(tree, TABLE)])
    with pytest.raises(TreewardenError, match="paths of CSV files"):
        audited(tree, beside=[3])


def test_the_command_line_reads_outputs_of_files(tree, tmp_path):
    from treewarden.ppdm_models.files.load import writers
    from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn

    model, table, mean = (tmp_path / name for name in ("tree.pmml", "people.csv", "mean.csv"))
    model.write_bytes(
        writers()["pmml"].write(from_sklearn(tree, ["side"], tree.classes_, target="ill"))
    )
    TABLE.to_csv(table, index=False)
    MEAN.to_csv(mean, index=False)
    files = (
        "audit",
        model,
        "--data",
        table,
        "--sensitive",
        "ill",
        "--qi",
        "age,side",
        "--with",
        mean,
    )
    result = run_command(*map(str, files), "--format", "json=-")
    assert result.exit_code == 1
    assert '"certain_disclosure"' in result.output
    alone = run_command(*map(str, files[:2]), "--no-table", "--with", str(mean))
    assert alone.exit_code != 0
    assert "--data" in alone.output


def test_the_report_says_what_each_output_proves_and_all_together(tree):
    blame = audited(tree, beside=[MEAN]).to_dict()["blame"]
    assert [(each["records_certain"], each["records_not_decided"]) for each in blame["files"]] == [
        (0, 0),
        (0, 0),
    ]
    assert blame["records_certain"] == 6
    assert (
        blame["sentences"][0]
        == "No output alone proves a value. Together they prove the values of 6 people."
    )
    assert all(reason["minimal"] for reason in blame["reasons"])
    assert blame["withhold_least"]
    assert len(blame["withhold"]) == blame["withhold_at_least"] == 1


def test_numbers_of_one_source_are_withheld_together_where_that_is_asked(tree):
    two = pd.DataFrame({"": ["age, mean", "n"], "yes": ["43.3", "3"]})
    alone, same = (
        audited(tree, beside=[two], same_everywhere=is_same).to_dict()["blame"]
        for is_same in (False, True)
    )
    sources = {name.partition(":")[0] for name in same["withhold"]}
    assert len(alone["withhold"]) == 1
    assert len(same["withhold"]) == 2
    assert len(sources) == 1 or all(name.startswith("leaf") for name in same["withhold"])


def test_which_numbers_prove_values_is_told_when_it_is_asked(tree):
    assert audited(tree).to_dict()["blame"] is None
    blame = audited(tree, blame=True).to_dict()["blame"]
    assert blame["numbers"] == 2
    assert blame["records_certain"] == 0


@pytest.fixture(scope="module")
def two_trees():
    """Return a forest of a split on a and one on b, and people of whom two leaves prove two values together.

    Of 3, 1, 1 and 3 people in the four cells 1, 1, 0 and 1 are ill. The labels alone leave all of them open.
    """
    from sklearn.ensemble import RandomForestClassifier

    people = [(0, 0, "yes"), (0, 0, "no"), (0, 0, "no"), (0, 1, "yes")]
    people += [(1, 0, "no"), (1, 1, "yes"), (1, 1, "no"), (1, 1, "no")]
    table = pd.DataFrame(people, columns=["a", "b", "ill"])
    for seed in range(20):
        forest = RandomForestClassifier(
            2, max_depth=1, max_features=1, bootstrap=False, random_state=seed
        ).fit(table[["a", "b"]], table.ill)
        if [int(tree.tree_.feature[0]) for tree in forest.estimators_] == [0, 1]:
            return forest, table
    raise AssertionError("no seed splits on a, then on b")


def test_leaves_that_prove_values_together_are_related_locations_in_sarif(two_trees, tmp_path):
    forest, table = two_trees
    asked = {"sensitive": "ill", "qi": ["a", "b"], "policy": "standard"}
    plain = tw.audit(forest, table, **asked)
    result = tw.audit(forest, table, blame=True, smallest_reasons=True, **asked)
    together = [
        reason for reason in result.to_dict()["blame"]["reasons"] if len(reason["leaves"]) > 1
    ]
    assert together
    assert all(reason["smallest"] and reason["minimal"] for reason in together)

    def related(of):
        (run,) = json.loads(of.save(tmp_path / "found.sarif").read_text())["runs"]
        return [each for found in run["results"] for each in found.get("relatedLocations", ())]

    assert not related(plain)
    names = {each["logicalLocations"][0]["fullyQualifiedName"] for each in related(result)}
    leaves = {leaf["node"] for reason in together for leaf in reason["leaves"]}
    assert {leaf.partition(":")[0] for leaf in leaves} == {"tree 1", "tree 2"}
    # the results are of leaves of the first tree
    assert names == {f"node {leaf}" for leaf in leaves if leaf.startswith("tree 2")}
    assert all(
        each["message"]["text"].endswith("help to prove values.") for each in related(result)
    )


def test_a_number_of_a_paper_is_a_related_location_of_the_leaf_it_proves_values_with(tmp_path):
    # The mean of three of six ages and the count of either leaf say who they are.
    table = pd.DataFrame({"g": [0, 0, 0, 1, 1, 1], "age": [30, 60, 45, 40, 50, 35]})
    table["ill"] = ["yes", "yes", "no", "yes", "no", "no"]
    model = sklearn_tree.DecisionTreeClassifier().fit(table[["g"]], table.ill)
    paper = pd.DataFrame([["age, mean", "43.3"]], columns=["characteristic", "yes"])
    asked = {"sensitive": "ill", "qi": ["g", "age"], "policy": "standard", "beside": [paper]}
    found = tw.audit(model, table, **asked)
    (run,) = json.loads(found.save(tmp_path / "found.sarif").read_text())["runs"]
    said = [
        each["message"]["text"]
        for result in run["results"]
        for each in result.get("relatedLocations", ())
    ]
    assert len(said) == 1
    assert said[0].startswith("This published number helps to prove values: ")
    assert "mean (SD) of age, ill = yes: 43.3" in said[0]


def test_repair_offers_the_fewest_leaves_to_withhold():
    table = pd.DataFrame({"side": [0] * 30 + [1] * 30 + [2] * 30})
    table["ill"] = ["yes", "no", "no"] * 10 + ["no"] * 30 + ["yes", "no", "yes"] * 10
    model = sklearn_tree.DecisionTreeClassifier(max_leaf_nodes=3).fit(table[["side"]], table.ill)
    policy = {
        "name": "proofs",
        "title": "Proofs",
        "description": "Nobody's value is proved.",
        "version": "1",
        "clause": [
            {
                "id": "proved",
                "measure": "certain_disclosure",
                "rule": "at_most",
                "limit": 0,
                "why": "proof",
            }
        ],
    }
    found = tw.repair(model, table, sensitive="ill", policy=policy)
    names = [attempt["title"] for attempt in found.to_dict()["repair"]["attempts"]]
    offered = [
        name for name in names if "1 of 3 leaves, after which counts prove nobody's value" in name
    ]
    assert offered
    assert "no fewer suffice" in offered[0]


def test_what_is_not_used_is_named_and_keeps_the_verdict_open(tree):
    plain = pd.DataFrame({"": ["n"], "yes": ["3"]})
    tested = plain.assign(**{"p-value": "0.7"})
    alone, with_test = (audited(tree, beside=[each]) for each in (plain, tested))
    assert alone.readings.loc["certain_disclosure"].high == 0
    reading = with_test.readings.loc["certain_disclosure"]
    assert (reading.low, reading.high) == (0, 6)
    text = str(with_test.to_dict())
    assert "p-values and test statistics are not linear constraints over people" in text
    assert any("column 'p-value'" in said for said in with_test.to_dict()["blame"]["sentences"])


def test_metrics_of_the_model_are_held_against_its_own_predictions(tree):
    area = pd.DataFrame({"metric": ["AUC"], "value": ["0.667"]})
    size = pd.DataFrame({"": ["n"], "yes": ["3"]})
    assert proved(audited(tree, beside=[area, size])) == 0
    with pytest.raises(OutputsError, match="but the table gives 0.666667"):
        audited(tree, beside=[area.assign(value="0.70")])
    matrix = pd.DataFrame({"ill": ["no", "yes"], "no": [2, 1], "yes": [1, 2]})
    assert proved(audited(tree, beside=[matrix])) == 0
    assert proved(audited(tree, beside=[matrix, MEAN])) == 6


def test_rows_that_stand_for_several_people_count_as_so_many():
    table = TABLE.assign(people=[2, 1, 1, 1, 1, 1])
    model = sklearn_tree.DecisionTreeClassifier(max_depth=1)
    model.fit(table[["side"]], table.ill, sample_weight=table.people)
    options = {"sensitive": "ill", "qi": ["age", "side"], "policy": "standard", "weights": "people"}
    count = pd.DataFrame({"": ["n"], "yes": ["4"]})
    assert tw.audit(model, table, beside=[count], **options).readings.loc["k_anonymity"].low
    with pytest.raises(OutputsError, match="is 3, but the table gives 4"):
        tw.audit(model, table, beside=[count.assign(yes="3")], **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"secret": "age", "knows": ["side"]}, "adversary who knows all quasi-identifiers"),
        ({"knows": ["side"]}, "adversary who knows all quasi-identifiers"),
    ],
)
def test_questions_that_outputs_do_not_join_are_refused(tree, options, said):
    with pytest.raises(OutputsError, match=said):
        audited(tree, beside=[MEAN], **options)


def test_sampling_weights_are_refused():
    weighted = sklearn_tree.DecisionTreeClassifier(max_depth=1)
    table = TABLE.assign(weight=[1.5, 1.0, 1.0, 1.0, 2.5, 1.0])
    weighted.fit(table[["side"]], table.ill, sample_weight=table.weight)
    options = {"qi": ["age", "side"], "policy": "standard", "beside": [MEAN]}
    with pytest.raises(OutputsError, match="only for unweighted people"):
        tw.audit(weighted, table, sensitive="ill", sampling_weights="weight", **options)


FIRMS = pd.DataFrame(
    {
        "size": [1, 1, 1, 1, 2, 2, 2, 2, 2, 2],
        "district": ["N1", "N1", "N1", "N2", "N1", "N1", "N1", "S1", "S1", "S1"],
        "turnover": [40, 30, 20, 9, 50, 60, 70, 55, 65, 75],
    }
)
CODES = "level;name\n@;Total\n@@;North\n@@@;N1\n@@@;N2\n@@;South\n@@@;S1\n"
"""sdcTable's list of codes: one region has two districts, the other one."""


def test_a_table_of_totals_by_region_discloses_a_withheld_district_through_every_door(tmp_path):
    model = sklearn_tree.DecisionTreeRegressor(max_depth=1).fit(FIRMS[["size"]], FIRMS.turnover)
    totals = pd.DataFrame(
        {"district": ["N1", "N2", "S1", "North"], "total": ["270", "x", "195", "279"]}
    )
    (tmp_path / "district.csv").write_text(CODES)
    found = tw.audit(
        model,
        FIRMS,
        sensitive="turnover",
        qi=["size", "district"],
        policy="official-statistics",
        beside=[totals, tmp_path / "district.csv"],
    )
    (finding,) = (each for each in found.to_dict()["findings"] if each["clause"] == "cells")
    assert finding["verdict"] == "FAIL"
    assert finding["where"][0]["path"] == "beside[0]:3"
    said = "turnover of district = N2: withheld; 1 contributor; its total follows exactly"
    assert finding["where"][0]["note"] == said


def test_the_command_line_and_a_gate_judge_tables_of_totals(tmp_path):
    skops = pytest.importorskip("skops.io")
    model = sklearn_tree.DecisionTreeRegressor(max_depth=1).fit(FIRMS[["size"]], FIRMS.turnover)
    skops.dump(model, tmp_path / "saved.skops")
    cleared = run_command("redact", tmp_path / "saved.skops", "-o", tmp_path / "model.skops")
    assert cleared.exit_code == 0
    (tmp_path / "saved.skops").unlink()
    FIRMS.to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "district.csv").write_text(CODES)
    (tmp_path / "totals.csv").write_text("district,total\nN1,270\nN2,x\nNorth,279\n")
    (tmp_path / "gate.toml").write_text(
        'policy = "official-statistics"\n[[model]]\npath = "model.skops"\ntable = "firms.csv"\n'
        'sensitive = "turnover"\nqi = ["size", "district"]\nwith = ["totals.csv", "district.csv"]\n'
    )
    asked = ["--sensitive", "turnover", "--qi", "size,district", "--policy", "official-statistics"]
    files = [
        str(tmp_path / name) for name in ("model.skops", "firms.csv", "totals.csv", "district.csv")
    ]
    done = run_command(
        "audit", files[0], "--data", files[1], "--with", files[2], "--with", files[3], *asked
    )
    assert done.exit_code == 1
    failed = done.output.partition("Warning")[0]
    assert re.search(r"cells +protection of the cells of tables +0 % +>= 10 % +1 place", failed)
    gate = run_command("gate", "--config", str(tmp_path / "gate.toml"))
    assert gate.exit_code == 1
    assert "cells" in gate.output


def test_checks_of_tables_do_not_apply_where_there_are_none():
    model = sklearn_tree.DecisionTreeRegressor(max_depth=1).fit(FIRMS[["size"]], FIRMS.turnover)
    found = tw.audit(model, FIRMS, sensitive="turnover", policy="official-statistics").to_dict()
    said = {each["name"]: each["text"] for each in found["not_judged"]}
    assert said["cells"] == "needs a table of totals (beside=FILE)"


def test_a_model_of_numbers_takes_tables_of_totals_only():
    model = sklearn_tree.DecisionTreeRegressor(max_depth=1).fit(FIRMS[["size"]], FIRMS.turnover)
    with pytest.raises(
        OutputsError, match=r"not a result table that treewarden recognises; .*: totals table"
    ):
        tw.audit(model, FIRMS, sensitive="turnover", policy="standard", beside=[MEAN])


def test_what_needs_other_tables_is_not_determined(tree):
    readings = audited(tree, beside=[MEAN], population=TABLE).readings
    assert "other outputs" in readings.loc["records_rebuilt"].reason
    assert not readings.loc["membership_proved"].reason


def test_scores_are_not_known_to_who_knows_labels_only(tree):
    area, size = (
        pd.DataFrame({"metric": ["AUC"], "value": ["0.67"]}),
        pd.DataFrame({"": ["n"], "yes": ["3"]}),
    )
    said = audited(tree, beside=[area, size], leaf="labels").to_dict()
    assert "knows the labels of leaves only" in str(said)


def test_a_proposal_whose_predictions_contradict_a_metric_is_not_determined():
    random = np.random.default_rng(0)
    people = pd.DataFrame({"age": random.integers(30, 70, 60), "side": random.integers(0, 4, 60)})
    people["ill"] = np.where(random.random(60) < 0.2 + 0.2 * people.side, "yes", "no")
    columns = ["age", "side"]
    model = sklearn_tree.DecisionTreeClassifier(max_depth=3, random_state=0)
    model.fit(people[columns], people.ill)
    matrix = pd.crosstab(people.ill, model.predict(people[columns])).reset_index()
    found = tw.repair(
        model, people, sensitive="ill", qi=columns, policy="standard", beside=[matrix]
    )
    attempts = found.to_dict()["repair"]["attempts"]
    assert {attempt["verdict"] for attempt in attempts} == {"UNDETERMINED"}
    assert all("but the table gives" in attempt["problem"] for attempt in attempts)


def test_gates_and_the_service_take_outputs():
    for door in (OptionDoor.GATE, OptionDoor.SERVICE):
        assert "beside" in files_of(door)


def test_an_attestation_states_no_outputs():
    request = Request(
        Path("tree.pmml"), Path("people.csv"), files=AuditFiles(beside=(Path("mean.csv"),))
    )
    (unstated,) = unstated_options(request)
    assert unstated.flag == "with"
    assert "remove the outputs" in unstated.instead
