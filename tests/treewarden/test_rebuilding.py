"""What a file proves of its records without any table, from the command line and in Python."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from tests.kit.run import run_command
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.of_model import reconstruct
from treewarden.jobs.inspecting import rebuilt_lines
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.tree import Quality

io = pytest.importorskip("skops.io", reason="writes a forest")
run = partial(run_command, "inspect")
BITS = "[columns.x0]\nvalues = [0, 1]\n[columns.x1]\nlow = 0\nhigh = 2\nwhole = true\n"


@pytest.fixture
def forest_file(tmp_path):
    """Return a forest on all of six records with a column of two values and one of three."""
    values = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]], dtype=float)
    learner = RandomForestClassifier(12, bootstrap=False, random_state=0, max_features=1)
    learner.fit(values, np.array(["no", "no", "yes", "yes", "yes", "no"]))
    path = tmp_path / "forest.skops"
    io.dump(learner, path)
    return path


@pytest.fixture
def domain_file(tmp_path):
    path = tmp_path / "public.toml"
    path.write_text(BITS, "utf-8")
    return path


def test_a_file_that_is_its_table_says_so(forest_file, domain_file):
    text = run(forest_file, "--domain", domain_file).stdout
    assert "the file alone proves values of 6 of 6 people" in text
    assert "a record here is what the model predicts and the columns that it tests" in text
    assert "only one table is consistent with the file" in text


def test_a_declared_domain_is_told_with_the_records(forest_file, domain_file):
    text = " ".join(run(forest_file, "--domain", domain_file).stdout.split())
    covered = "declared for 2 of 2 tested columns (x0, x1): 6 combinations, all listed"
    assert f"the public domain was {covered}" in text
    domain = json.loads(run(forest_file, "--domain", domain_file, "--format", "jsonl").stdout)[
        "rebuilt"
    ]["domain"]
    assert domain == {
        "declared": ["x0", "x1"],
        "tested": 2,
        "points": 6,
        "method": "points",
        "words": covered,
    }


def test_without_a_domain_none_is_told(forest_file):
    assert "public domain" not in run(forest_file).stdout
    assert json.loads(run(forest_file, "--format", "jsonl").stdout)["rebuilt"]["domain"] is None


def test_without_a_domain_values_are_ranges(forest_file):
    said = json.loads(run(forest_file, "--format", "jsonl").stdout)["rebuilt"]
    assert (said["records_proved"], said["whole_records"], said["tables"]) == (6, 0, "infinite")


def test_a_target_without_a_name_is_told_as_the_class(forest_file):
    assert "(the class: 6)" in run(forest_file).stdout


def test_no_record_stands_in_the_output(forest_file, domain_file):
    said = json.loads(run(forest_file, "--domain", domain_file, "--format", "jsonl").stdout)
    assert set(said["rebuilt"]) == {
        *("records", "records_proved", "whole_records", "columns", "tables", "decided"),
        *("assumes", "domain"),
    }


def test_of_draws_it_says_why_nothing_is_proved(tmp_path):
    learner = RandomForestClassifier(3, random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    io.dump(learner, tmp_path / "forest.skops")
    text = run(tmp_path / "forest.skops").stdout
    assert "provided that all trees drew their samples from the same records" in text
    for tree in learner.estimators_:
        tree.random_state = None
    io.dump(learner, tmp_path / "without.skops")
    text = run(tmp_path / "without.skops").stdout
    assert "proves         unknown: each tree used, or may have used, an unknown sample" in text


@pytest.mark.parametrize(
    ("settings", "weights"),
    [
        ({"class_weight": {"no": 0.5, "yes": 1}}, [1, 2, 3, 1, 2, 3]),
        ({"class_weight": "balanced"}, [2, 1, 1, 1, 1, 1]),
        ({}, [1, 2, 3, 1, 2, 3]),
        ({}, [2] * 6),
    ],
)
def test_sums_of_weights_prove_no_records(tmp_path, settings, weights):
    learner = RandomForestClassifier(12, bootstrap=False, random_state=0, **settings)
    learner.fit(np.array(VALUES, dtype=float), np.array(CLASSES), sample_weight=weights)
    io.dump(learner, tmp_path / "forest.skops")
    text = " ".join(run(tmp_path / "forest.skops").stdout.split())
    assert "sums of weights, not of people" in text


@pytest.mark.parametrize("weights", [{"no": 0.3, "yes": 7}, {"no": 2, "yes": 1}])
def test_weights_of_classes_are_divided_out_of_their_sums(
    tmp_path, domain_file, table_file, weights
):
    learner = RandomForestClassifier(
        12, bootstrap=False, random_state=0, max_features=1, class_weight=weights
    )
    learner.fit(np.array(VALUES, dtype=float), np.array(CLASSES))
    io.dump(learner, tmp_path / "forest.skops")
    text = " ".join(run(tmp_path / "forest.skops", "--domain", domain_file).stdout.split())
    assert "proves values of 6 of 6 people" in text
    assert "only one table is consistent with the file" in text
    assert "no record has a weight of its own beside that of its class" in text
    result = tw.audit(tmp_path / "forest.skops", table_file, sensitive="ill", policy="health")
    assert result.reconstruction.rows_in_groups(2) == (6, 6)


def test_balanced_weights_are_found_in_the_file_and_not_where_records_have_others():
    values, classes = np.arange(9.0)[:, None], np.array(["no"] * 3 + ["yes"] * 5 + ["no"])
    learner = DecisionTreeClassifier(class_weight="balanced", random_state=0)
    balanced = from_sklearn(learner.fit(values, classes)).learner.class_weights
    assert balanced == pytest.approx((9 / 8, 9 / 10))
    weighed = learner.fit(values, classes, sample_weight=np.linspace(1, 2, 9))
    assert from_sklearn(weighed).learner.class_weights == ()


@pytest.mark.parametrize("learner", [DecisionTreeClassifier, ExtraTreesClassifier])
def test_balanced_weights_that_add_up_to_records_are_not_taken_for_records(learner):
    # One no, one yes and four maybe weigh 2, 2 and 1 / 2: each leaf of 3 records has weights of 3 in all.
    values = np.array([[1], [0], [1], [0], [0], [1]], dtype=float)
    classes = ["no", "yes", "maybe", "maybe", "maybe", "maybe"]
    settings = {} if learner is DecisionTreeClassifier else {"n_estimators": 3}
    model = learner(class_weight="balanced", random_state=0, **settings).fit(values, classes)
    read = load_model(io.dumps(model), "model.skops")
    assert {tree.quality for tree in trees_of(read)} == {Quality.WEIGHTED}
    assert isinstance(reconstruct(read, FOREVER), Undetermined)
    # Equal classes have weights of 1, which every tree of both says by itself.
    model.fit(values[:4], ["no", "yes", "no", "yes"])
    read = load_model(io.dumps(model), "model.skops")
    assert {tree.quality for tree in trees_of(read)} == {Quality.EXACT}


def test_a_record_of_weight_0_is_none(tmp_path, domain_file):
    learner = RandomForestClassifier(12, bootstrap=False, random_state=0, max_features=1)
    learner.fit(np.array(VALUES, dtype=float), np.array(CLASSES), sample_weight=[0, 1, 1, 1, 1, 1])
    io.dump(learner, tmp_path / "forest.skops")
    text = run(tmp_path / "forest.skops", "--domain", domain_file).stdout
    assert "of 5 people" in text


def test_tables_are_said_to_be_so_many_at_most_and_thresholds_exclude_some(tmp_path):
    io.dump(DecisionTreeClassifier().fit([[0.0], [1.0], [5.0]], [0, 0, 1]), tmp_path / "tree.skops")
    domain = tmp_path / "public.toml"
    domain.write_text("[columns.x0]\nvalues = [0, 1, 5]\n", "utf-8")
    # Three have the counts. One of them has no record at 1, which makes the threshold with 5.
    assert (
        "at most 2 tables are consistent with the file"
        in run(tmp_path / "tree.skops", "--domain", domain).stdout
    )


def test_whoever_declared_all_columns_is_not_told_to_declare_them(forest_file, domain_file):
    said = tw.inspect(forest_file, domain=domain_file).to_dict()["rebuilt"]
    said = {**said, "decided": False}
    assert [*rebuilt_lines(said)][-1].endswith("so more records may be provable")
    assert [*rebuilt_lines({**said, "domain": None})][-1].endswith("(--domain)")


def test_python_inspects_with_a_domain_too(forest_file, domain_file):
    assert tw.inspect(forest_file, domain=domain_file).to_dict()["rebuilt"]["tables"] == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[columns.x0]\nvalues = [0, 'a']\n", "one kind"),
        ("[columns.x0]\nlow = 3\nhigh = 1\n", "low is above high"),
        ("[columns.x0]\nwhole = true\n", "whole numbers need low and high"),
        ("[columns.age]\nvalues = [1]\n", "'age' is not a column of the model"),
        ("[columns.x0]\nvalues = ['a']\n", "must be numbers"),
        ("[columns.x0]\ncolour = 1\n", "columns.x0.colour"),
        ("[[one_of]]\ncolumns = ['x0', 'x9']\n", "'x9' is not a column"),
        ("[columns.x0]\nlow = 0\n[[one_of]]\ncolumns = ['x0', 'x1']\n", "declared twice"),
        ("not toml", "not valid TOML"),
    ],
)
def test_a_domain_that_is_not_understood_is_an_error(forest_file, tmp_path, text, problem):
    (tmp_path / "bad.toml").write_text(text, "utf-8")
    outcome = run(forest_file, "--domain", tmp_path / "bad.toml")
    assert outcome.exit_code == 4
    assert problem in outcome.stdout + outcome.stderr


VALUES = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
CLASSES = ("no", "no", "yes", "yes", "yes", "no")


@pytest.fixture
def table_file(tmp_path):
    path = tmp_path / "people.csv"
    rows = [f"{a},{b},{c}" for (a, b), c in zip(VALUES, CLASSES, strict=True)]
    path.write_text("\n".join(["x0,x1,ill", *rows]), "utf-8")
    return path


def verdicts(result):
    return dict(zip(result.findings["clause"], result.findings["verdict"], strict=True))


@pytest.mark.parametrize("policy", ["open-data", "health"])
def test_an_audit_fails_where_records_of_real_people_are_proved(forest_file, table_file, policy):
    result = tw.audit(forest_file, table_file, sensitive="ill", policy=policy)
    assert verdicts(result)["rebuilt"] == "FAIL"
    assert result.reconstruction.rows_in_groups(2) == (6, 6)
    assert result.reconstruction.tables == 1


def test_a_declared_domain_reaches_the_audit(forest_file, table_file, domain_file, tmp_path):
    (tmp_path / "wide.toml").write_text("[columns.x0]\nlow = 0\nhigh = 1\n", "utf-8")
    wide = tw.audit(forest_file, table_file, sensitive="ill", domain=tmp_path / "wide.toml")
    assert wide.reconstruction.rows_in_groups(np.inf)[0] == 0
    exact = tw.audit(forest_file, table_file, sensitive="ill", domain=domain_file)
    assert exact.reconstruction.rows_in_groups(np.inf) == (6, 6)


def test_the_command_line_says_it_and_needs_a_table_for_a_domain(
    forest_file, table_file, domain_file
):
    audit = partial(run_command, "audit", forest_file, "--domain", domain_file)
    outcome = audit("--data", table_file, "--sensitive", "ill", "--policy", "health")
    assert outcome.exit_code == 1
    assert "6 of 6 people have a record that follows completely from the file alone" in " ".join(
        outcome.stdout.split()
    )
    alone = audit("--no-table")
    assert alone.exit_code == 4
    assert "inspect --domain" in " ".join((alone.stdout + alone.stderr).split())


def test_a_tree_of_large_mixed_leaves_passes(tmp_path):
    rows = [f"{a},{b},{c}" for a in (0, 1) for b in (0, 1) for c in ["no"] * 20 + ["yes"] * 20]
    table = np.array([[float(v) for v in row.split(",")[:2]] for row in rows])
    ill = np.array([row.split(",")[2] for row in rows])
    ill[:3] = "yes"
    lines = [f"{int(a)},{int(b)},{c}" for (a, b), c in zip(table, ill, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["x0,x1,ill", *lines]), "utf-8")
    tree = DecisionTreeClassifier(random_state=0).fit(table, ill)
    result = tw.audit(tree, tmp_path / "people.csv", sensitive="ill", policy="open-data")
    assert verdicts(result)["rebuilt"] == "PASS"


def test_every_report_says_that_a_domain_was_declared(
    forest_file, table_file, domain_file, tmp_path
):
    result = tw.audit(forest_file, table_file, sensitive="ill", domain=domain_file)
    words = "declared for 2 of 2 tested columns (x0, x1): 6 combinations"
    assert words in result.to_dict()["rebuilt_domain"]
    for suffix in ("txt", "html"):
        report = result.save(tmp_path / f"report.{suffix}")
        assert words in " ".join(report.read_text("utf-8").split()), suffix
    without = tw.audit(forest_file, table_file, sensitive="ill")
    assert without.to_dict()["rebuilt_domain"] == ""
    text = without.save(tmp_path / "without.txt").read_text("utf-8")
    assert "public domain" not in text
