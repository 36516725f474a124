"""What CatBoost's leaf values say of their people's labels, held against the tables that models were trained on."""

import json

import numpy as np
import pytest

from tests.audit.inverters.grown import check_sound, reason, table_of
from tests.kit.grown_models import FOLDER, case_of, truth
from tests.kit.tiers import seeds
from treewarden.audit.inverters import LeafSums, leaf_sums
from treewarden.audit.inverters._bounds import NumberBounds, exactly, softmax
from treewarden.audit.inverters._rounds import whole_between
from treewarden.audit.inverters._walks import LeafScores, StepRule, backtracked, fitting, whole_sums
from treewarden.audit.reading import Undetermined
from treewarden.jobs.inputs import opened
from treewarden.ppdm_models.formats.catboost.catboost_json import FORMAT


def sums_of(name, table="two"):
    """Return what the leaves of a model say, or why nothing, and what they truly hold."""
    case, people = case_of(FOLDER / f"catboost_{name}.json", FOLDER / f"{table}.csv")
    sums = leaf_sums(case)
    return sums, truth(case, people, sums) if isinstance(sums, LeafSums) else None


def edited(tmp_path, change, name="plain"):
    """Return a copy of a model whose document was changed."""
    document = json.loads((FOLDER / f"catboost_{name}.json").read_bytes())
    change(document)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    return path


def set_parameter(group, name, value):
    def change(document):
        document["model_info"]["params"][group][name] = value

    return change


def test_four_records_by_hand():
    model = opened(FOLDER / "catboost_by_hand.json").model
    (tree,) = model.growth.trees
    assert tree.values[1:] == pytest.approx([0, 0.0285714], abs=1e-7)
    sums, true = sums_of("by_hand", "by_hand")
    assert sums.low.tolist() == sums.high.tolist() == true.tolist() == [1, 2]
    assert {name: fact.value for name, fact in sums.facts.items()} == pytest.approx(
        {
            "learning_rate": 0.1,
            "l2_leaf_reg": 3,
            "leaf_estimation_iterations": 1,
            "leaf_estimation_method": 1,
            "leaf_estimation_backtracking": 1,
        }
    )


@pytest.mark.parametrize(
    ("name", "table"),
    [
        *((name, "two") for name in ("plain", "steps", "gradient", "halved", "average", "leaves")),
        *((name, "two") for name in ("bernoulli", "mvs", "bayesian", "ordered")),
        ("one_hot", "towns"),
    ],
)
def test_every_leaf_is_turned_back_exactly(name, table):
    sums, true = sums_of(name, table)
    assert sums.low.tolist() == sums.high.tolist() == true.tolist()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("class_weights", "class_weights"),
        ("balanced", "auto_class_weights"),
        ("langevin", "noise"),
        ("shrunk", "model_shrink_rate"),
        ("monotone", "rise or fall"),
        ("cross_entropy", "class shares"),
    ],
)
def test_what_changes_leaf_values_is_refused_by_name(name, why):
    sums, _ = sums_of(name)
    assert isinstance(sums, Undetermined)
    assert why in sums.reason


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("three", "three"),
        ("three_gradient", "three"),
        ("three_unbound", "three"),
        ("two_softmax", "two"),
    ],
)
def test_every_leaf_and_class_of_softmax_is_turned_back_exactly(name, table):
    sums, true = sums_of(name, table)
    assert sums.low.tolist() == sums.high.tolist() == true.tolist()
    assert set(sums.output) == ({0, 1, 2} if table == "three" else {1})


def test_several_steps_for_all_classes_at_once_are_refused_by_name():
    sums, _ = sums_of("three_steps", "three")
    assert "for all classes at once" in sums.reason


@pytest.mark.parametrize("name", ["three", "three_gradient", "three_unbound"])
@pytest.mark.parametrize(
    ("group", "setting", "value"),
    [
        ("tree_learner_options", "l2_leaf_reg", 3.01),
        ("boosting_options", "learning_rate", 0.51),
    ],
)
def test_wrong_settings_of_softmax_are_noticed(tmp_path, name, group, setting, value):
    path = edited(tmp_path, set_parameter(group, setting, value), name)
    assert "another table" in leaf_sums(case_of(path, FOLDER / "three.csv")[0]).reason


@pytest.mark.parametrize("name", ["three", "three_gradient"])
def test_a_changed_leaf_of_softmax_is_noticed(tmp_path, name):
    def change(document):
        document["oblivious_trees"][1]["leaf_values"][2] += 0.001

    path = edited(tmp_path, change, name)
    assert isinstance(leaf_sums(case_of(path, FOLDER / "three.csv")[0]), Undetermined)


def test_scores_that_softmax_starts_from_were_changed(tmp_path):
    def change(document):
        document["scale_and_bias"] = [1, [0.5, 0, 0]]

    path = edited(tmp_path, change, "three")
    assert "start was changed" in leaf_sums(case_of(path, FOLDER / "three.csv")[0]).reason


@pytest.mark.parametrize(("name", "why"), [("statistics", "target statistics")])
def test_what_the_file_shows_to_be_otherwise_is_refused_by_name(name, why):
    assert why in opened(FOLDER / f"catboost_{name}.json").model.growth.refused


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (set_parameter("boosting_options", "posterior_sampling", True), "posterior_sampling"),
        (set_parameter("boosting_options", "iterations", 3), "training continued"),
        (set_parameter("data_processing_options", "eval_fraction", 0.2), "eval_fraction"),
        (set_parameter("system_options", "node_type", "Master"), "several machines"),
        (set_parameter("tree_learner_options", "dev_leafwise_approxes", True), "one by one"),
        (
            set_parameter("tree_learner_options", "leaf_estimation_method", "Exact"),
            "does not contain",
        ),
        (set_parameter("tree_learner_options", "leaf_estimation_iterations", 11), "halved"),
        (
            set_parameter("tree_learner_options", "leaf_estimation_iterations", 101),
            "does not contain",
        ),
        (set_parameter("tree_learner_options", "l2_leaf_reg", -1), "does not contain"),
        (set_parameter("loss_function", "params", {"border": "0.5"}), "border"),
        (lambda document: document["model_info"]["params"].update(task_type="GPU"), "GPU"),
        (lambda document: document["model_info"].pop("params"), "does not state how"),
        (lambda document: document.update(scale_and_bias=[2, [0]]), "scaled"),
        (lambda document: document.update(scale_and_bias=[1, [0.5]]), "start was changed"),
    ],
)
def test_settings_that_are_not_plain_are_refused_by_name(tmp_path, change, why):
    growth = opened(edited(tmp_path, change)).model.growth
    if growth.refused:
        assert why in growth.refused
    else:
        found = leaf_sums(case_of(edited(tmp_path, change), FOLDER / "two.csv")[0])
        assert why in found.reason


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("tree_learner_options", "l2_leaf_reg", 3.5),
        ("boosting_options", "learning_rate", 0.051),
        ("tree_learner_options", "leaf_estimation_method", "Gradient"),
    ],
)
@pytest.mark.parametrize("model", ["plain", "steps"])
def test_wrong_settings_are_noticed(tmp_path, group, name, value, model):
    path = edited(tmp_path, set_parameter(group, name, value), model)
    found = leaf_sums(case_of(path, FOLDER / "two.csv")[0])
    assert isinstance(found, Undetermined)
    assert "another table" in found.reason


def test_a_wrong_number_of_steps_is_noticed(tmp_path):
    path = edited(
        tmp_path, set_parameter("tree_learner_options", "leaf_estimation_iterations", 2), "steps"
    )
    assert "another table" in leaf_sums(case_of(path, FOLDER / "two.csv")[0]).reason


def test_a_second_step_that_was_not_taken_changes_nothing(tmp_path):
    path = edited(tmp_path, set_parameter("tree_learner_options", "leaf_estimation_iterations", 2))
    sums = leaf_sums(case_of(path, FOLDER / "two.csv")[0])
    assert sums.low.tolist() == sums.high.tolist() == sums_of("plain")[1].tolist()


@pytest.mark.parametrize("model", ["plain", "steps"])
def test_a_changed_leaf_is_noticed(tmp_path, model):
    def change(document):
        document["oblivious_trees"][1]["leaf_values"][0] += 0.001

    found = leaf_sums(case_of(edited(tmp_path, change, model), FOLDER / "two.csv")[0])
    assert isinstance(found, Undetermined)


def test_a_start_that_is_no_share_of_the_people_is_noticed(tmp_path):
    def change(document):
        document["scale_and_bias"][1][0] += 0.01

    found = leaf_sums(case_of(edited(tmp_path, change, "average"), FOLDER / "two.csv")[0])
    assert "not a class share" in found.reason


def test_other_people_are_noticed_where_the_file_counts_none(tmp_path):
    def change(document):
        for tree in document["oblivious_trees"]:
            del tree["leaf_weights"]

    path = edited(tmp_path, change)
    rows = (FOLDER / "two.csv").read_text().splitlines()
    table = tmp_path / "less.csv"
    table.write_text("\n".join([*rows[:5], *rows[6:]]) + "\n")
    found = leaf_sums(case_of(path, table)[0])
    assert isinstance(found, Undetermined)
    assert "another table" in found.reason


def sigmoid(scores):
    return 1 / (1 + np.exp(-scores))


def walked(scores, labels, rule, parts):
    """Return where steps lead, one after the other."""
    moved = 0.0
    for part in parts:
        shares = sigmoid(scores + moved)
        divisor = (shares * (1 - shares)).sum() if rule.is_newton else len(scores)
        moved += part * (labels - shares.sum()) / (divisor + rule.ridge)
    return moved


def leaf_of(scores, value, room=1e-12):
    """Return one leaf of people with these scores, which came to a value."""
    size = len(scores)
    ends = exactly(np.array([value])).wider(1e-12 * (1 + abs(value)))
    weights, of = np.ones(size), np.zeros(size, dtype=np.intp)
    return LeafScores(exactly(scores), weights, of, ends, np.array([float(size)]), room)


@pytest.mark.parametrize("seed", seeds(40, quick=8))
def test_the_numbers_that_lead_to_a_value_are_those_of_trying_each(seed):
    draw = np.random.default_rng(seed)
    scores = draw.normal(0, draw.choice([0.1, 1, 4]), draw.integers(1, 60))
    rule = StepRule(float(draw.choice([1e-20, 0.5, 3, 20])), bool(seed % 2))
    parts = draw.choice([0, 0.25, 0.5, 1, 1, 1], draw.integers(2, 11))
    parts[0] = 1.0
    ways = {labels: walked(scores, labels, rule, parts) for labels in range(len(scores) + 1)}
    true = int(draw.integers(len(scores) + 1))
    if not np.isfinite(ways[true]):
        return
    near = [each for each, at in ways.items() if not abs(at - ways[true]) > 1e-9 * (1 + abs(at))]
    found = whole_sums(leaf_of(scores, ways[true]), rule, exactly(parts))
    assert found.low[0] <= true <= found.high[0]
    if rule.ridge > 0.1:  # without, steps run away, and roundings with them
        assert (found.low[0], found.high[0]) == (min(near), max(near))


@pytest.mark.parametrize("seed", range(10))
def test_the_way_that_was_taken_is_among_those_that_fit(seed):
    draw = np.random.default_rng(seed)
    scores, rule = draw.normal(0, 1, draw.integers(1, 9)), StepRule(1.0, bool(seed % 2))
    ways = backtracked(5)
    way = ways[draw.integers(len(ways))]
    labels = int(draw.integers(len(scores) + 1))
    kept = fitting(leaf_of(scores, walked(scores, labels, rule, way)), rule, ways)
    assert (kept == way).all(axis=1).any()


@pytest.mark.parametrize("room", [1e-12, 1e-9])
def test_steps_over_which_exponentials_overflow_rule_nothing_out(room):
    # CatBoost made -1.4e21 of three people, one with the label, by ten such steps without l2; exact ones end elsewhere.
    leaf = leaf_of(np.full(3, -2.9957322735539904), -1.4000000444282687e21, room)
    found = whole_sums(leaf, StepRule(1e-20, is_newton=True), exactly(np.ones(10)))
    assert found.low[0] <= 1 <= found.high[0]


def test_an_end_that_overflowed_bounds_nothing():
    low, high = whole_between(NumberBounds(np.array([np.nan]), np.array([np.nan])), np.array([7.0]))
    assert (low[0], high[0]) == (0, 7)


def test_shares_of_scores_that_are_not_known_may_be_anything():
    low, high = np.array([[0.0, -2000, -3000]]), np.array([[0.0, 2000, 2000]])
    with np.errstate(invalid="raise"):
        found = softmax(NumberBounds(low, high), 0.0)
    assert (found.low <= 1e-9).all()
    assert (found.high[0, 1:] >= 1 - 1e-9).all()


def test_scores_beyond_what_exponentials_hold_are_refused(tmp_path):
    def change(document):
        document["scale_and_bias"][1][0] = 800

    found = leaf_sums(case_of(edited(tmp_path, change, "average"), FOLDER / "two.csv")[0])
    assert "exponentials" in found.reason


def test_the_ways_of_halving_two_steps_are_these():
    assert backtracked(2).tolist() == [[0, 0], [0, 0.5], [1, 0], [1, 1]]


def read(fitted, tmp_path):
    path = tmp_path / "model.json"
    fitted.save_model(str(path), format="json")
    return FORMAT.open(path.read_bytes(), "model.json").model


def grown(table, labels, weights=None, **settings):
    catboost = pytest.importorskip("catboost", reason="grows the models that are inverted")
    settings = {"iterations": 5, "depth": 3, "thread_count": 1, "verbose": False, **settings}
    fitted = catboost.CatBoostClassifier(allow_writing_files=False, **settings)
    return fitted.fit(table, labels, sample_weight=weights)


@pytest.mark.parametrize("seed", range(8))
def test_sums_are_those_of_random_tables(seed, tmp_path):
    table, labels = table_of(seed, rows=30 + 17 * seed)
    settings = (
        {},
        {"leaf_estimation_method": "Gradient"},
        {"leaf_estimation_iterations": 10},
        {"leaf_estimation_iterations": 7, "leaf_estimation_backtracking": "No"},
    )[seed % 4]
    ridge = (3, 0.731)[seed % 2]
    fitted = grown(table, labels, l2_leaf_reg=ridge, learning_rate=0.0873645123, **settings)
    model = read(fitted, tmp_path)
    check_sound(model, table, labels)


@pytest.mark.parametrize("seed", range(8))
def test_sums_of_softmax_are_those_of_random_tables(seed, tmp_path):
    table, labels = table_of(seed, rows=40 + 31 * seed, classes=2 + seed % 4)
    settings = {
        "leaf_estimation_method": ("Newton", "Gradient")[seed % 2],
        "l2_leaf_reg": (0, 1e-6, 3, 20)[seed // 2],
    }
    fitted = grown(table, labels, loss_function="MultiClass", learning_rate=0.3, **settings)
    sums = check_sound(read(fitted, tmp_path), table, labels)
    assert (sums.low == sums.high).all()


def test_weights_are_noticed(tmp_path):
    table, labels = table_of(3)
    weights = np.random.default_rng(1).integers(1, 4, len(table))
    assert "with weights" in reason(read(grown(table, labels, weights), tmp_path), table)


def test_a_model_that_stopped_early_is_turned_back(tmp_path):
    catboost = pytest.importorskip("catboost", reason="grows the models that are inverted")
    table, labels = table_of(4, rows=200)
    others = table_of(5, rows=100)
    settings = {"iterations": 60, "depth": 2, "thread_count": 1, "verbose": False}
    fitted = catboost.CatBoostClassifier(
        allow_writing_files=False, use_best_model=True, learning_rate=0.5, **settings
    )
    fitted.fit(table, labels, eval_set=others)
    assert fitted.tree_count_ < 60
    model = read(fitted, tmp_path)
    sums = check_sound(model, table, labels)
    assert (sums.low == sums.high).all()
