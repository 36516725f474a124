"""The private learner: as scikit-learn wants it, with a file that says what it claims and passes its audit."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.kit.run import run_command
from treewarden.jobs.inspecting import said_of
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.tree.ensemble import claim_of
from treewarden.ppdm_models.tree.tree import Quality

sklearn_tree = pytest.importorskip("sklearn.tree")
learn = pytest.importorskip("treewarden.learn")
BOUNDS = {"age": (18, 90), "income": (0, 200)}
REPEATING = dict.fromkeys(
    (
        "check_classifier_data_not_an_array",
        "check_supervised_y_2d",
        "check_fit_idempotent",
        "check_fit2d_1sample",
        "check_methods_subset_invariance",
        "check_dict_unchanged",
        "check_classifiers_one_label",
    ),
    "draws come from the operating system, so that no fit repeats another",
)


def people(size=1500, seed=0):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"age": random.integers(18, 90, size), "income": random.integers(0, 200, size)}
    )
    frame["ill"] = np.where(random.random(size) < 0.2 + 0.5 * (frame.age > 50), "yes", "no")
    return frame


TABLE = people()


def fitted(epsilon=1.0, table=TABLE, **settings):
    settings = {"bounds": BOUNDS, "classes": ["no", "yes"], "max_depth": 3} | settings
    learner = learn.PrivateTreeClassifier(epsilon, **settings)
    return learner.fit(table[["age", "income"]], table.ill)


def test_scikit_learn_finds_nothing_but_that_fits_differ():
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            learn.PrivateTreeClassifier(), expected_failed_checks=REPEATING, on_fail=None
        )
    failed = [result["check_name"] for result in results if result["status"] == "failed"]
    assert not failed


def test_a_file_says_what_it_claims_and_publishes_labels_alone(tmp_path):
    skops = pytest.importorskip("skops.io")
    file = tmp_path / "tree.skops"
    skops.dump(fitted(0.8), file)
    said = said_of(file)
    words = "epsilon=0.8, unit=record, mechanism=permute-and-flip-monotonic"
    assert said["claim"]["words"].startswith(words)
    assert not said["claim"]["seeded"]
    assert said["publishes"]["labels"] == said["leaves"]
    assert said["publishes"]["counts"] == said["publishes"]["sizes"] == 0


def test_a_tree_in_memory_claims_the_same_and_its_audit_passes():
    model = fitted()
    tree = open_fitted(model, target="ill", names=["age", "income"]).model
    assert tree.quality is Quality.ABSENT
    assert claim_of(tree).words == model.claim_
    result = tw.audit(model, TABLE, sensitive="ill", policy="differential-privacy")
    readings = result.to_dict()["readings"]
    assert readings["epsilon"]["high"] == 1
    assert readings["certain_disclosure"]["high"] == 0
    assert readings["epsilon_realised"]["high"] <= 1
    assert readings["disclosure"]["high"] == pytest.approx(1 / (1 + np.exp(-2)))


FORMS = {
    "pairs": lambda low, high: ([low.age, low.income], [high.age, high.income]),
    "names": lambda low, high: {name: (low[name], high[name]) for name in ("age", "income")},
    "array": lambda low, high: np.array([[low.age, low.income], [high.age, high.income]]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_saved", [False, True])
def test_bounds_that_are_said_to_be_public_and_are_those_of_the_table_keep_the_claim_open(
    form, is_saved, tmp_path
):
    numbers = TABLE[["age", "income"]].astype(float)
    for more, outcome in ((0.0, "undetermined"), (1.0, "undetermined"), (None, "not refuted")):
        low, high = numbers.min() - (more or 0), numbers.max() + (more or 0)
        if more is None:
            low, high = low * 0, high * 0 + [120, 300]
        model = fitted(bounds=FORMS[form](low, high))
        if is_saved:
            file = tmp_path / f"tree{more}.skops"
            pytest.importorskip("skops.io").dump(model, file)
            model = file
        result = tw.audit(model, TABLE, sensitive="ill", policy="differential-privacy")
        assert result.to_dict()["claims"][0]["outcome"] == outcome


@pytest.mark.parametrize("missing", ["bounds", "classes"])
def test_what_is_read_from_the_table_voids_the_claim(missing):
    with pytest.warns(UserWarning, match=f"no {missing} were given, so they are read from the tab"):
        model = fitted(**{missing: None})
    result = tw.audit(model, TABLE, sensitive="ill", policy="differential-privacy")
    assert result.to_dict()["readings"]["epsilon"]["high"] == "inf"
    assert "bounds=table" in model.claim_


def test_two_fits_of_one_table_differ():
    trees = [fitted(0.1).tree_.__getstate__()["nodes"]["threshold"].tolist() for _ in range(6)]
    assert len({tuple(tree) for tree in trees}) > 1


def test_values_beyond_the_bounds_count_as_the_bounds():
    table = pd.concat([TABLE, pd.DataFrame({"age": [500], "income": [-9], "ill": ["yes"]})])
    assert fitted(table=table).tree_.threshold.max() < 200


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"label_share": 1}, "label_share"),
        ({"max_depth": 40}, "max_depth"),
        ({"bins": 0}, "bins"),
        ({"bounds": {"age": (0, 1)}}, "no bounds of 'income'"),
        ({"bounds": {}}, "no bounds of 'age', 'income'"),
        ({"bounds": (5, 1)}, "the lower one first"),
        ({"classes": ["no"]}, "another class"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        fitted(**({"epsilon": 1.0} | settings))


def repaired(tmp_path, *more):
    skops = pytest.importorskip("skops.io")
    grown = sklearn_tree.DecisionTreeClassifier(max_depth=1, random_state=0)
    rows = TABLE[:300]
    file, table = tmp_path / "tree.skops", tmp_path / "people.csv"
    skops.dump(grown.fit(rows[["age", "income"]], rows.ill), file)
    rows.to_csv(table, index=False)
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'name = "p"\nversion = "1"\ntitle = "p"\n\n[[check]]\nid = "epsilon"\nmeasure = "epsilon"\n'
        'rule = "at_most"\nlimit = 1\n'
    )
    out = tmp_path / "private.pmml"
    command = ["repair", file, "--data", table, "--sensitive", "ill", "--policy", policy]
    command += ["--to", "pmml", "-o", out, "--jobs", 1, "--worlds-budget", 1, *more]
    return run_command(*command), out, policy, table


def test_repair_offers_a_private_tree_whose_file_passes(tmp_path):
    ends = ("--bound", "age=18:90", "--bound", "income=0:200")
    outcome, out, policy, table = repaired(tmp_path, "--private", "0.5", *ends)
    assert outcome.exit_code == 0, outcome.stderr
    assert "It spent epsilon = 0.5" in outcome.stderr
    shown = " ".join(outcome.stdout.split())
    assert "PASS: The new tree in private.pmml meets the policy" in shown
    assert "Publish only the new tree, private.pmml. To audit the new file by itself:" in shown
    again = run_command(
        *("audit", out, "--data", table, "--sensitive", "ill", "--policy", policy),
        *("--format", "json"),
    )
    assert again.exit_code == 0
    assert json.loads(again.stdout)["readings"]["epsilon"]["high"] == 0.5


def test_repair_asks_for_bounds_that_are_no_part_of_the_table(tmp_path):
    outcome, out, *_ = repaired(tmp_path, "--private", "0.5", "--bound", "age=18:90")
    assert outcome.exit_code == 4
    assert "column 'income' needs public bounds" in outcome.stderr
    assert "trying" not in outcome.stderr
    assert not out.exists()
    none = repaired(tmp_path, "--private", "0.5")[0].stderr
    assert "columns 'age', 'income' need public bounds" in none
    assert "add --bound age=LOW:HIGH --bound income=LOW:HIGH, each" in none
    ends = ("--bound", "age=18:90", "--bound", "income=0:200", "--bound", "pay=0:1")
    odd = repaired(tmp_path, "--private", "0.5", *ends)[0]
    assert "the model has no numeric column 'pay'; its numeric columns are 'age'" in odd.stderr
    assert repaired(tmp_path, "--bound", "age=18:90")[0].exit_code == 2
    assert repaired(tmp_path, "--private", "1", "--grow")[0].exit_code == 2


JOBS = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="job" optype="categorical" dataType="string">{values}</DataField>
<DataField name="ill" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
</DataDictionary><TreeModel functionName="classification"><MiningSchema><MiningField name="job"/>
<MiningField name="ill" usageType="target"/></MiningSchema><Node><True/>
<Node score="yes"><SimplePredicate field="job" operator="equal" value="nurse"/></Node>
<Node score="no"><SimplePredicate field="job" operator="notEqual" value="nurse"/></Node></Node></TreeModel></PMML>"""


@pytest.mark.parametrize(
    ("jobs", "is_refused"), [(("clerk", "nurse", "bishop"), True), (("clerk", "nurse"), False)]
)
def test_repair_lists_no_value_that_a_few_records_have(jobs, is_refused, tmp_path):
    """The failing file read its list of values from the table: without the one bishop, it would not name them."""
    _, _, policy, _ = repaired(tmp_path, "--bound", "age=18:90")  # writes its files alone
    table = TABLE[:300].assign(job=["clerk", "nurse"] * 150)[["job", "ill"]]
    if is_refused:
        table.loc[7, "job"] = "bishop"
    file = tmp_path / "jobs.pmml"
    file.write_text(JOBS.format(values="".join(f'<Value value="{job}"/>' for job in jobs)))
    settings = {"sensitive": "ill", "policy": policy, "to": "pmml", "jobs": 1, "worlds_budget": 1}
    if is_refused:
        with pytest.raises(tw.TreewardenError, match="a value of 'job' has fewer than 10 records"):
            tw.repair(file, table, private=0.5, **settings)
    else:
        assert "It spent epsilon = 0.5" in tw.repair(file, table, private=0.5, **settings).message


def test_repair_in_python_trains_a_private_tree_too(tmp_path):
    _, _, policy, table = repaired(tmp_path, "--bound", "age=18:90")  # writes its files alone
    settings = {"sensitive": "ill", "policy": policy, "to": "pmml", "jobs": 1, "worlds_budget": 1}
    ends = {"age": (18, 90), "income": (0, 200)}
    model = tmp_path / "tree.skops"
    found = tw.repair(model, table, private=0.5, bounds=ends, **settings)
    assert "It spent epsilon = 0.5" in found.message
    out = found.save_model(tmp_path / "private.pmml")
    again = tw.audit(out, table, sensitive="ill", policy=policy)
    assert again.to_dict()["readings"]["epsilon"]["high"] == 0.5


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"private": 0}, "0 is not valid; give a number above 0"),
        ({"private": True}, "True is not valid; give a number above 0"),
        ({"private": 1, "grow": True}, "choose one"),
        ({"bounds": {"age": (0, 1)}}, "add private=EPSILON"),
        ({"private": 1, "bounds": {"age": (1, 0)}}, "'age': give two numbers, the lower one first"),
        ({"private": 1, "bounds": {"age": 5}}, "'age': give two numbers"),
    ],
)
def test_settings_of_a_private_repair_that_cannot_be_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        tw.repair("tree.pmml", TABLE, sensitive="ill", **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilon": 5e-324}, "epsilon: 5e-324 is not valid; give a number of 1e-06 or more"),
        ({"label_share": 0.9999999999}, "leaves nothing for the splits; give 0.999 or less"),
    ],
)
def test_settings_that_no_audit_could_pass_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        fitted(**settings)
