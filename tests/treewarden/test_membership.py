"""Checks of membership through every door: Python, command line, policies; and registers that cannot be."""

import json

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.kit.run import run_command
from treewarden import learn
from treewarden.ppdm_models.errors import TableError, TreewardenError

sklearn_tree = pytest.importorskip("sklearn.tree")
PACKS = ("health", "open-data", "strict")


def people(size=120, seed=3):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"age": random.integers(20, 70, size), "income": random.integers(10, 90, size)}
    )
    frame["ill"] = np.where(random.random(size) < 0.2 + 0.5 * (frame.age > 50), "yes", "no")
    return frame


REGISTER = people()
TABLE = REGISTER.iloc[:60].reset_index(drop=True)


@pytest.fixture(scope="module")
def full_tree():
    model = sklearn_tree.DecisionTreeClassifier(random_state=None)
    return model.fit(TABLE[["age", "income"]], TABLE.ill)


@pytest.fixture(scope="module")
def flat_tree():
    # One cut whose neighbours several candidates share: nobody's membership is proved.
    table = pd.DataFrame({"age": [30] * 30 + [50] * 30, "income": 40})
    table["ill"] = ["no", "yes"] * 10 + ["no"] * 10 + ["yes"] * 20 + ["no"] * 10
    register = pd.concat([table, table], ignore_index=True)
    model = sklearn_tree.DecisionTreeClassifier().fit(table[["age", "income"]], table.ill)
    return model, table, register


def audited(model, table=TABLE, policy="strict", **more):
    return tw.audit(model, table, sensitive="ill", policy=policy, worlds_budget=5.0, **more)


@pytest.fixture(scope="module")
def judged(full_tree):
    """What is said of the full tree where a register is given."""
    return audited(full_tree, population=REGISTER)


def findings(result):
    return {finding["clause"]: finding["verdict"] for finding in result.to_dict()["findings"]}


def reading(result, measure):
    """Return the row of one measure."""
    rows = result.readings
    return rows[rows.measure == measure].iloc[0]


@pytest.mark.parametrize("policy", PACKS)
def test_a_file_that_proves_members_fails_where_a_register_is_given(full_tree, policy):
    result = audited(full_tree, policy=policy, population=REGISTER)
    assert findings(result)["membership"] == "FAIL"
    assert reading(result, "membership_proved").low > 0
    assert reading(result, "membership_odds").low == np.inf


def test_histogram_boosting_that_proves_members_fails_too():
    boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingClassifier
    model = boosting(max_iter=20, min_samples_leaf=2, early_stopping=False)
    result = audited(model.fit(TABLE[["age", "income"]], TABLE.ill), population=REGISTER)
    assert findings(result)["membership"] == "FAIL"
    assert reading(result, "membership_proved").low > 0


def test_what_is_not_decided_of_members_is_said_with_its_reason():
    library = pytest.importorskip("sklearn.ensemble")
    model = library.HistGradientBoostingClassifier(max_iter=1, max_depth=1, early_stopping=False)
    result = audited(model.fit(TABLE[["age", "income"]], TABLE.ill), population=REGISTER)
    proved = reading(result, "membership_proved")
    assert proved.low < proved.high
    assert any(warning.startswith("membership: ") for warning in result.warnings)


def test_without_a_register_it_is_said_that_membership_was_not_judged(full_tree):
    result = audited(full_tree, policy="health")
    assert "membership" not in findings(result)
    said = {entry["name"]: entry["text"] for entry in result.to_dict()["not_judged"]}
    assert "population=FILE" in said["membership"]
    assert findings(audited(full_tree))["membership-judged"] == "UNDETERMINED"


def test_nobody_is_proved_where_all_have_doubles_outside_the_table(flat_tree):
    model, table, register = flat_tree
    result = audited(model, table, population=register)
    assert reading(result, "membership_proved").high == 0
    assert findings(result)["membership"] == "PASS"


def test_a_register_without_classes_is_a_register(full_tree):
    result = audited(full_tree, population=REGISTER.drop(columns="ill"))
    assert reading(result, "membership_proved").low >= 0


def test_people_of_the_table_who_are_missing_are_added_and_said(full_tree):
    result = audited(full_tree, population=REGISTER.iloc[5:])
    assert any("were added to the register" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("register", "problem"),
    [
        (REGISTER.iloc[:30], "give a register of everybody"),
        (people(seed=9), "columns and units"),
        (REGISTER.drop(columns="age"), "age"),
        (
            REGISTER.assign(ill=REGISTER["ill"].iloc[0]),
            "the register has only one value in the sensitive column 'ill'; give a register",
        ),
    ],
)
def test_a_register_that_cannot_hold_the_table_is_refused(full_tree, register, problem):
    with pytest.raises(TableError, match=problem):
        audited(full_tree, population=register)


def identified(frame, start=0):
    return frame.assign(pid=[f"p{number:03d}" for number in range(start, start + len(frame))])


def test_people_are_found_by_their_id(full_tree, judged):
    table, register = identified(TABLE), identified(REGISTER)
    by_id = audited(full_tree, table, population=register, id="pid")
    assert not any("added" in warning for warning in by_id.warnings)
    by_value = judged
    assert reading(by_id, "membership_proved").low == reading(by_value, "membership_proved").low


def test_people_whose_id_the_register_lacks_are_added_though_others_are_alike(flat_tree):
    # By their values all are there; by their ids 20 of the table are not, and stand beside those who are.
    model, table, register = flat_tree
    told = audited(
        model,
        identified(table),
        population=pd.concat([identified(table).iloc[20:], identified(register, 500)]),
        id="pid",
    )
    assert any("20 of 60 people" in warning and "'pid'" in warning for warning in told.warnings)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda frame: frame.assign(age=frame.age + (frame.index == 3)), r"'age' \(1\)"),
        (lambda frame: frame.assign(ill=frame.ill.iloc[::-1].to_numpy()), r"'ill' \("),
        (lambda frame: frame.assign(pid="x"), "same value in several records"),
        (lambda frame: frame.assign(pid="q" + frame.pid), "'pid'"),
        (lambda frame: frame.drop(columns="pid"), "no column 'pid'"),
    ],
)
def test_a_register_that_contradicts_the_table_by_id_is_refused(full_tree, change, problem):
    with pytest.raises(TreewardenError, match=problem):
        audited(full_tree, identified(TABLE), population=change(identified(REGISTER)), id="pid")


def test_people_with_several_records_are_found_by_equal_values(full_tree):
    table = identified(TABLE).assign(pid=lambda frame: frame.index // 2)
    result = audited(full_tree, table, population=REGISTER, id="pid")
    assert reading(result, "membership_proved").low > 0


def test_a_register_needs_the_table(full_tree):
    with pytest.raises(TreewardenError, match="population"):
        tw.audit(full_tree, None, population=REGISTER)


def test_the_command_line_says_the_same(judged, tmp_path):
    judged.save_model(tmp_path / "tree.json")
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    REGISTER.to_csv(tmp_path / "register.csv", index=False)
    files = [str(tmp_path / name) for name in ("tree.json", "table.csv", "register.csv")]
    done = run_command(
        "audit", files[0], "--data", files[1], "--population", files[2], "--policy", "strict"
    )
    assert done.exit_code == 1
    assert "people proved to be in the table" in done.output
    assert "are proved to have been in the table" in done.output
    assert f"--population {files[2]}" in done.output  # the next commands keep it


def test_the_first_screen_says_whether_membership_was_judged(full_tree, judged, tmp_path):
    for result, told in (
        (audited(full_tree), "whether a person is in the table (membership). To judge"),
        (judged, "are proved to have"),
    ):
        result.save(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text("utf-8")
        assert told in page


def test_the_terminal_says_that_membership_was_not_judged(full_tree, flat_tree, tmp_path):
    for (model, table), told in (
        ((full_tree, TABLE), "Membership is not judged"),
        (flat_tree[:2], "and membership in the table"),
    ):
        audited(model, table).save_model(tmp_path / "tree.json")
        table.to_csv(tmp_path / "table.csv", index=False)
        files = [str(tmp_path / name) for name in ("tree.json", "table.csv")]
        done = run_command("audit", files[0], "--data", files[1], "--policy", "standard")
        assert told in " ".join(done.output.split())


def test_people_of_the_register_who_fall_in_no_leaf_leave_it_undecided(full_tree, tmp_path):
    # This file says no way for missing values: whoever lacks one may have been anywhere.
    path = audited(full_tree).save_model(tmp_path / "tree.json")
    said = json.loads(path.read_text("utf-8"))
    without = without_ways(said)
    assert without != said
    path.write_text(json.dumps(without), "utf-8")
    register = pd.concat([REGISTER, REGISTER.iloc[:1].assign(age=np.nan)])
    result = audited(path, population=register)
    assert "reach no leaf" in reading(result, "membership_proved").reason


def without_ways(said):
    """Return what a file says without where its nodes send people who lack a value."""
    if isinstance(said, dict):
        kept = {name: without_ways(part) for name, part in said.items() if name != "default_child"}
        return kept | ({"missing": "null-prediction"} if "missing" in kept else {})
    return [without_ways(part) for part in said] if isinstance(said, list) else said


def test_duplicates_in_the_register_are_people_who_may_stand_for_each_other(full_tree, judged):
    twice = audited(full_tree, population=pd.concat([REGISTER, REGISTER]))
    assert reading(twice, "membership_proved").low < reading(judged, "membership_proved").low


def test_people_whose_class_the_register_has_wrong_are_added_with_a_warning(full_tree):
    wrong = REGISTER.assign(ill=REGISTER.ill.where(REGISTER.index >= 5, "unheard of"))
    with pytest.raises(TreewardenError, match="the model has no such class"):
        audited(full_tree, population=wrong)
    other = REGISTER.ill.map({"yes": "no", "no": "yes"})
    wrong = REGISTER.assign(ill=REGISTER.ill.where(REGISTER.index >= 5, other))
    assert any(
        "were added to the register" in told
        for told in audited(full_tree, population=wrong).warnings
    )


def test_models_that_drew_samples_are_undecided():
    ensemble = pytest.importorskip("sklearn.ensemble")
    forest = ensemble.RandomForestClassifier(n_estimators=3, max_depth=2)
    result = audited(forest.fit(TABLE[["age", "income"]], TABLE.ill), population=REGISTER)
    assert "sample" in reading(result, "membership_proved").reason
    assert findings(result)["membership"] == "UNDETERMINED"


def test_private_trees_are_undecided():
    model = learn.PrivateTreeClassifier(
        1.0, bounds={"age": (20, 70), "income": (10, 90)}, classes=["no", "yes"]
    )
    result = audited(model.fit(TABLE[["age", "income"]], TABLE.ill), population=REGISTER)
    assert reading(result, "membership_proved").reason
    assert findings(result)["membership"] != "PASS"
