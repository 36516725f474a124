"""Splits that a learner without privacy chose, or that no noise explains, are not taken for draws; drawn ones are."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.judges.drawn_labels import people_in
from tests.kit.tiers import seeds
from treewarden.audit.claims.leaf_labels import _tail_of_commonest, log_probabilities
from treewarden.audit.claims.realised_loss import (
    BestSplit,
    best_splits,
    bets_on_best,
    joint_p,
    most_gain_weight,
    p_of_bets,
)
from treewarden.audit.claims.split_choices import _SplitNode
from treewarden.ppdm_models.files.load import read_model, writers
from treewarden.ppdm_models.learn import private_growth
from treewarden.ppdm_models.learn.private_growth import score_chances
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import with_claim
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism, read_claim

POLICY = {
    "name": "epsilon",
    "version": "1",
    "title": "epsilon",
    "check": [{"id": "epsilon", "measure": "epsilon", "rule": "at_most", "limit": 1}],
}
WORDS = "epsilon=1, mechanism=permute-and-flip-monotonic, bounds=public, splits="


def outcome_of(model, table, **more):
    return tw.audit(model, table, sensitive="ill", policy=POLICY, **more).to_dict()["claims"][0]


def five_columns(seed):
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "sex": random.integers(0, 2, 800),
            "grade": random.integers(0, 9, 800),
            "age": random.integers(18, 90, 800),
            "income": random.gamma(2, 2000, 800).round(1),
        }
    )
    odds = np.exp(table.sex + (table.age > 50) - table.income / 4000)
    return table.assign(ill=(random.random(800) < odds / (1 + odds)).astype(int))


SPLITS = {"independent": "independent", "private": "private, label_epsilon=0.2"}
SAID = {
    "independent": "fit this table better than splits that are independent",
    "private": "splits are the best ones of their column for this table",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_best_splits_of_the_table_are_not_taken_for_draws(splits, criterion, tmp_path):
    trees = pytest.importorskip("sklearn.tree")
    table = five_columns(1)
    columns = list(table.columns[:-1])
    tree = trees.DecisionTreeClassifier(
        criterion=criterion, max_depth=3, min_samples_leaf=20, random_state=0
    ).fit(table[columns], table.ill)
    file = tmp_path / "tree.txt"
    file.write_text(trees.export_text(tree, feature_names=columns, decimals=9))
    words = "epsilon=1, mechanism=permute-and-flip-monotonic, bounds=public, splits="
    found = tw.audit(file, table, sensitive="ill", policy=POLICY, claims=words + SPLITS[splits])
    claim = found.to_dict()["claims"][0]
    assert claim["outcome"] == "undetermined"
    assert SAID[splits] in claim["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("splits", SPLITS)
def test_a_claim_in_a_file_of_trees_alone_is_held_against_the_table_too(splits, tmp_path):
    trees = pytest.importorskip("sklearn.tree")
    table = five_columns(1)
    columns = list(table.columns[:-1])
    tree = trees.DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0)
    tree.fit(table[columns], table.ill)
    text = tmp_path / "tree.txt"
    text.write_text(trees.export_text(tree, feature_names=columns, decimals=9))
    words = "epsilon=1, mechanism=permute-and-flip-monotonic, bounds=public, splits="
    model = with_claim(read_model(text), read_claim(words + SPLITS[splits], "the file"))
    file = tmp_path / "tree.pmml"
    file.write_bytes(writers()["pmml"].write(replace(model, target="ill")))
    found = outcome_of(file, table)
    assert found["outcome"] == "undetermined"
    assert SAID[splits] in found["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("splits", SPLITS)
def test_thresholds_half_way_between_records_of_a_sample_are_not_taken_for_draws(splits, tmp_path):
    trees = pytest.importorskip("sklearn.tree")
    table = five_columns(1)
    table["income"] += np.random.default_rng(2).random(800)
    columns = list(table.columns[:-1])
    sample = table.sample(640, random_state=0)
    tree = trees.DecisionTreeClassifier(max_depth=4, max_features=1, random_state=0)
    tree.fit(sample[columns], sample.ill)
    file = tmp_path / "tree.txt"
    file.write_text(trees.export_text(tree, feature_names=columns, decimals=9))
    words = "epsilon=1, mechanism=permute-and-flip-monotonic, bounds=public, splits="
    found = tw.audit(file, table, sensitive="ill", policy=POLICY, claims=words + SPLITS[splits])
    claim = found.to_dict()["claims"][0]
    assert claim["outcome"] == "undetermined"
    assert "half way between two records" in claim["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", seeds(30, quick=2, second=6))
def test_splits_that_the_private_learner_drew_are_taken_for_draws(seed):
    learn = pytest.importorskip("treewarden.learn")
    table = five_columns(seed)
    columns = list(table.columns[:-1])
    bounds = {"sex": (0, 1), "grade": (0, 9), "age": (0, 120), "income": (0, 50_000)}
    for epsilon in (1.0, 50.0):
        tree = learn.PrivateTreeClassifier(epsilon, bounds=bounds, classes=[0, 1], max_depth=3)
        found = outcome_of(tree.fit(table[columns], table.ill), table)
        assert "best ones" not in found["reason"]
        assert found["outcome"] == "not refuted"


BOUNDS = {"sex": (0, 1), "grade": (0, 9), "age": (0, 120), "income": (0, 50_000)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("best", "how"), [(max, "better"), (min, "worse")])
def test_cuts_that_the_noise_of_the_learner_does_not_explain_leave_its_claim_open(
    best, how, monkeypatch
):
    learn = pytest.importorskip("treewarden.learn")
    drawn = private_growth.permute_and_flip

    def without_noise(scores, scale, below):
        is_label = len(scores) == 2
        return drawn(scores, scale, below) if is_label else scores.index(best(scores))

    monkeypatch.setattr(private_growth, "permute_and_flip", without_noise)
    table = five_columns(0)
    columns = list(table.columns[:-1])
    tree = learn.PrivateTreeClassifier(
        0.5 if how == "better" else 20.0, bounds=BOUNDS, classes=[0, 1], max_depth=3, bins=256
    )
    found = outcome_of(tree.fit(table[columns], table.ill), table)
    assert found["outcome"] == "undetermined"
    assert f"the splits are {how} for this table than draws" in found["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_honest", [True, False])
def test_cuts_behind_a_step_that_passes_columns_on_are_held_against_the_noise_too(
    is_honest, monkeypatch, tmp_path
):
    learn = pytest.importorskip("treewarden.learn")
    pipelines = pytest.importorskip("sklearn.pipeline")
    compose = pytest.importorskip("sklearn.compose")
    skops = pytest.importorskip("skops.io")
    if not is_honest:
        drawn = private_growth.permute_and_flip
        monkeypatch.setattr(
            private_growth,
            "permute_and_flip",
            lambda scores, scale, below: (
                drawn(scores, scale, below) if len(scores) == 2 else scores.index(max(scores))
            ),
        )
    table = five_columns(0)
    columns = ["age", "income"]
    ends = tuple(zip(*(BOUNDS[name] for name in columns), strict=True))
    tree = learn.PrivateTreeClassifier(0.5, bounds=ends, classes=[0, 1], max_depth=3, bins=256)
    step = compose.make_column_transformer(("passthrough", columns))
    file = tmp_path / "tree.skops"
    file.write_bytes(
        skops.dumps(pipelines.make_pipeline(step, tree).fit(table[columns], table.ill))
    )
    found = outcome_of(file, table)
    assert found["outcome"] == ("not refuted" if is_honest else "undetermined")
    assert ("are better for this table than draws" in found["reason"]) is not is_honest


@pytest.mark.filterwarnings("ignore")
def test_categories_that_an_encoder_was_given_are_not_read_from_the_table(tmp_path):
    learn = pytest.importorskip("treewarden.learn")
    pipelines = pytest.importorskip("sklearn.pipeline")
    encoders = pytest.importorskip("sklearn.preprocessing")
    skops = pytest.importorskip("skops.io")
    table = categories(0)
    names, values = list(table.columns[:-1]), [f"v{code}" for code in range(8)]
    file = tmp_path / "tree.skops"
    for given, outcome in (([values] * 4, "not refuted"), ("auto", "void")):
        tree = learn.PrivateTreeClassifier(bounds=(0, 7), classes=[0, 1], max_depth=2)
        encoder = encoders.OrdinalEncoder(categories=given)
        pipeline = pipelines.make_pipeline(encoder, tree).fit(table[names], table.ill)
        file.write_bytes(skops.dumps(pipeline))
        assert outcome_of(file, table)["outcome"] == outcome, given


@pytest.mark.filterwarnings("ignore")
def test_the_chances_of_draws_need_every_value(monkeypatch):
    learn = pytest.importorskip("treewarden.learn")
    table = five_columns(0)
    columns = list(table.columns[:-1])
    tree = learn.PrivateTreeClassifier(bounds=BOUNDS, classes=[0, 1], max_depth=2)
    tree.fit(table[columns], table.ill)
    table.loc[3, "age"] = np.nan
    assert "people lack values" in outcome_of(tree, table)["reason"]


@pytest.mark.parametrize("scores", [[3, 3, 1, 0], [9, 7, 7, 7, 2], [5], [40, 0, 0, 39, 39, 38]])
@pytest.mark.parametrize("epsilon", [0.01, 0.7, 30.0])
def test_chances_of_scores_are_sums_of_the_probabilities_of_permute_and_flip(scores, epsilon):
    every = np.array(scores)
    mechanism = LabelMechanism.PERMUTE_AND_FLIP
    of_each = np.exp(log_probabilities(every[None].astype(float), epsilon, mechanism))[0]
    drawn, chances = score_chances(every, epsilon / 2)
    assert drawn.tolist() == sorted(set(scores))
    expected = [of_each[every == score].sum() for score in drawn]
    assert chances == pytest.approx(expected, rel=1e-9)


def integers_of(random):
    """Return what draws whole numbers below another, as the learner asks for them."""
    return lambda most: int(random.integers(most))


def test_chances_of_scores_are_how_often_the_learner_draws():
    scores, random = [12, 11, 11, 9, 4, 0], np.random.default_rng(3)
    below = integers_of(random)
    drawn = [
        scores[private_growth.permute_and_flip(scores, Fraction(1, 4), below)] for _ in range(4000)
    ]
    for score, chance in zip(*score_chances(np.array(scores), 0.25), strict=True):
        assert np.mean(np.array(drawn) == score) == pytest.approx(chance, abs=0.03)


def test_probabilities_are_put_together_by_their_product_or_by_the_least():
    # P(u v <= 1/16) of two even draws is 1/16 (1 + ln 16); one of two is at most 1/8 with at most 1/4.
    assert joint_p([1 / 8, 1 / 2]) == pytest.approx(2 * (1 + np.log(16)) / 16)
    assert joint_p([1e-9, 1.0]) == pytest.approx(4e-9)
    assert joint_p([0.9] * 64) == 1.0
    assert joint_p([]) == 1.0


def categories(seed):
    """Return a table of four columns of categories, and of a class that hangs on two of them."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 8, (600, 4))
    odds = np.exp((codes[:, 0] - 3.5) / 3 + (codes[:, 1] > 4))
    columns = {f"c{place}": [f"v{code}" for code in codes[:, place]] for place in range(4)}
    ill = (random.random(600) < odds / (1 + odds)).astype(int)
    return pd.DataFrame({**columns, "ill": ill})


def tree_of_sets(table, choose, depth=3):
    """Return a PMML file of tests on sets of categories, each chosen by a function of the records of its node."""
    names = [name for name in table.columns if name != "ill"]
    fields = "".join(
        f'<DataField name="{name}" optype="categorical" dataType="string"/>' for name in names
    )

    def node(rows, level, test):
        if not level:
            label = int(rows.ill.mean() > 0.5) if len(rows) else 0
            return f'<Node score="{label}">{test}</Node>'
        name, values = choose(rows)
        array = f'<Array n="{len(values)}" type="string">{" ".join(sorted(values))}</Array>'
        tests = [
            f'<SimpleSetPredicate field="{name}" booleanOperator="{word}">{array}</SimpleSetPredicate>'
            for word in ("isIn", "isNotIn")
        ]
        is_in = rows[name].isin(values)
        children = node(rows[is_in], level - 1, tests[0]) + node(rows[~is_in], level - 1, tests[1])
        return f"<Node>{test}{children}</Node>"

    return f"""<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>
<DataDictionary>{fields}<DataField name="ill" optype="categorical" dataType="string"><Value value="0"/>
<Value value="1"/></DataField></DataDictionary>
<TreeModel functionName="classification" splitCharacteristic="binarySplit">
<MiningSchema>{"".join(f'<MiningField name="{name}"/>' for name in names)}
<MiningField name="ill" usageType="target"/></MiningSchema>{node(table, depth, "<True/>")}</TreeModel></PMML>"""


def best_set(rows):
    """Return the column and the set of its values that leave the least Gini impurity."""
    found = []
    for name in ("c0", "c1", "c2", "c3"):
        shares = rows.groupby(name).ill.mean().sort_values()
        for size in range(1, len(shares)):
            values = set(shares.index[:size])
            is_in = rows[name].isin(values)
            sides = [rows.ill[is_in], rows.ill[~is_in]]
            worth = sum(len(side) * side.mean() * (1 - side.mean()) for side in sides)
            found.append((worth, name, sorted(values)))
    return min(found)[1:]


def random_set(seed):
    random = np.random.default_rng(seed)

    def choose(rows):
        values = [f"v{code}" for code in range(8) if random.random() < 0.5] or ["v0"]
        return f"c{random.integers(4)}", values[:7]

    return choose


def test_best_sets_of_categories_are_not_taken_for_draws(tmp_path):
    table, file = categories(0), tmp_path / "tree.pmml"
    file.write_text(tree_of_sets(table, best_set))
    found = outcome_of(file, table, claims=f"{WORDS}independent")
    assert found["outcome"] == "undetermined"
    assert SAID["independent"] in found["reason"]


@pytest.mark.parametrize("seed", seeds(20, quick=2, second=4))
def test_random_sets_of_categories_are_taken_for_draws(seed, tmp_path):
    table, file = categories(seed), tmp_path / "tree.pmml"
    file.write_text(tree_of_sets(table, random_set(seed)))
    found = outcome_of(file, table, claims=f"{WORDS}independent")
    assert "splits" not in found["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("splits", SPLITS)
def test_thresholds_that_are_values_of_records_are_not_taken_for_draws(splits, tmp_path):
    trees = pytest.importorskip("sklearn.tree")
    table = five_columns(1)
    table["income"] += np.random.default_rng(2).random(800)
    tree = trees.DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0)
    tree.fit(table[["income"]], table.ill)
    state = tree.tree_.__getstate__()
    nodes = state["nodes"].copy()
    for node in nodes[nodes["left_child"] >= 0]:
        below = table.income[table.income <= node["threshold"]]
        nodes["threshold"][nodes["threshold"] == node["threshold"]] = below.max()
    tree.tree_.__setstate__({**state, "nodes": nodes})
    file = tmp_path / "tree.txt"
    file.write_text(trees.export_text(tree, feature_names=["income"], decimals=12))
    found = outcome_of(file, table[["income", "ill"]], claims=WORDS + SPLITS[splits])
    assert found["outcome"] == "undetermined"
    said = SAID[splits] if splits == "independent" else "values of records"
    assert said in found["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", seeds(20, quick=2, second=4))
def test_a_column_of_two_values_beside_a_fine_one_may_be_drawn(seed, tmp_path):
    random = np.random.default_rng(seed)
    sex, income = random.integers(0, 2, 400), random.lognormal(10, 1, 400)
    ill = (random.random(400) < 0.2 + 0.5 * sex).astype(int)
    table = pd.DataFrame({"sex": sex, "income": income, "ill": ill})
    labels = [int(ill[sex == value].mean() > 0.5) for value in (0, 1)]
    file = tmp_path / "tree.txt"
    file.write_text(
        f"|--- sex <= 0.5\n|   |--- class: {labels[0]}\n|--- sex >  0.5\n|   |--- class: {labels[1]}\n"
    )
    assert "splits" not in outcome_of(file, table, claims=f"{WORDS}independent")["reason"]


def test_tests_of_several_columns_leave_open_how_they_were_chosen(tmp_path):
    table, file = categories(0), tmp_path / "tree.pmml"
    whole = tree_of_sets(table, lambda rows: ("c0", ["v0", "v1"]), depth=1)
    for word, operator in (("isIn", "and"), ("isNotIn", "or")):
        array = '<Array n="2" type="string">v0 v1</Array>'
        one, second = (
            f'<SimpleSetPredicate field="{name}" booleanOperator="{word}">{array}</SimpleSetPredicate>'
            for name in ("c0", "c1")
        )
        both = f'<CompoundPredicate booleanOperator="{operator}">{one}{second}</CompoundPredicate>'
        assert one in whole
        whole = whole.replace(one, both)
    file.write_text(whole)
    found = outcome_of(file, table, claims=f"{WORDS}independent")
    assert found["outcome"] == "undetermined"
    assert "1 of 1 splits test several columns at once" in found["reason"]


SIDES = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="job" optype="categorical" dataType="string"/>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="ill" optype="categorical" dataType="string"><Value value="0"/><Value value="1"/></DataField>
</DataDictionary><TreeModel functionName="classification" missingValueStrategy="defaultChild"><MiningSchema>
<MiningField name="job"/><MiningField name="age"/><MiningField name="ill" usageType="target"/></MiningSchema>
<Node id="0" defaultChild="1"><True/>
<Node id="1" defaultChild="3"><SimplePredicate field="job" operator="equal" value="nurse"/>
<Node id="2" score="0"><SimplePredicate field="age" operator="lessOrEqual" value="40"/></Node>
<Node id="3" score="1"><SimplePredicate field="age" operator="greaterThan" value="40"/></Node></Node>
<Node id="4" defaultChild="{second}"><SimplePredicate field="job" operator="notEqual" value="nurse"/>
<Node id="5" score="0"><SimplePredicate field="age" operator="lessOrEqual" value="60"/></Node>
<Node id="6" score="0"><SimplePredicate field="age" operator="greaterThan" value="60"/></Node></Node></Node></TreeModel>
</PMML>"""


@pytest.mark.parametrize(("second", "is_told"), [("6", False), ("5", True)])
def test_sides_of_missing_values_tell_of_records_where_they_differ_among_tests_of_a_kind(
    second, is_told, tmp_path
):
    """What ``repair --private`` writes has one side at tests of numbers, and the other at those of categories."""
    random, file = np.random.default_rng(0), tmp_path / "tree.pmml"
    jobs = random.choice(["clerk", "driver", "nurse"], 600)
    table = pd.DataFrame(
        {
            "job": jobs,
            "age": random.uniform(18, 80, 600).round(1),
            "ill": random.integers(0, 2, 600),
        }
    )
    file.write_text(SIDES.format(second=second))
    words = f"{WORDS}independent".replace("epsilon=1", "epsilon=0.01")
    reason = outcome_of(file, table, claims=words)["reason"]
    assert ("the side that missing values take" in reason) is is_told


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("decimals", [1, 2])
def test_good_splits_with_rounded_thresholds_are_not_taken_for_draws(decimals, tmp_path):
    """None is the best one: people round thresholds, and a sample or a weight makes another one the best."""
    trees = pytest.importorskip("sklearn.tree")
    table = five_columns(1)
    table["income"] = (table.income / 1000).round(4)
    columns = list(table.columns[:-1])
    tree = trees.DecisionTreeClassifier(max_depth=4, min_samples_leaf=20, random_state=0)
    tree.fit(table[columns], table.ill)
    file = tmp_path / "tree.txt"
    file.write_text(trees.export_text(tree, feature_names=columns, decimals=decimals))
    found = outcome_of(file, table, claims=f"{WORDS}independent")
    assert found["outcome"] == "undetermined"
    assert SAID["independent"] in found["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", seeds(200, quick=2, second=10))
def test_random_thresholds_of_random_columns_are_taken_for_draws(seed, tmp_path):
    random = np.random.default_rng(seed)
    table, lines = five_columns(seed), []

    def grow(depth):
        indent = "|   " * depth
        if depth == 3:
            lines.append(f"{indent}|--- class: {random.integers(2)}")
            return
        name = ["sex", "grade", "age", "income"][random.integers(4)]
        end = random.uniform(*BOUNDS[name])
        for sign in ("<=", "> "):
            lines.append(f"{indent}|--- {name} {sign} {end:.6f}")
            grow(depth + 1)

    grow(0)
    file = tmp_path / "tree.txt"
    file.write_text("\n".join(lines) + "\n")
    assert "splits" not in outcome_of(file, table, claims=f"{WORDS}independent")["reason"]


def test_the_larger_side_first_tells_where_more_records_went(tmp_path):
    file = tmp_path / "tree.pmml"
    text = re.sub(r' defaultChild="\d"', "", SIDES.format(second="6"))
    low, high = (text[text.index(f'<Node id="{node}"') :].split("</Node>")[0] for node in "56")
    swapped = text.replace(f"{low}</Node>\n{high}</Node>", f"{high}</Node>\n{low}</Node>")
    assert swapped != text
    random = np.random.default_rng(0)
    jobs = random.choice(["clerk", "driver", "nurse"], 600)
    ages = random.uniform(18, 80, 600).round(1)
    table = pd.DataFrame({"job": jobs, "age": ages, "ill": random.integers(0, 2, 600)})
    words = f"{WORDS}independent".replace("epsilon=1", "epsilon=0.01")
    for each, is_told in ((text, False), (swapped, True)):
        file.write_text(each)
        reason = outcome_of(file, table, claims=words)["reason"]
        assert ("which side of a test comes first" in reason) is is_told


def test_branches_that_group_values_leave_open_how_they_were_chosen(tmp_path):
    table, file = categories(0), tmp_path / "tree.pmml"
    whole = tree_of_sets(table, lambda rows: ("c0", ["v0", "v1"]), depth=1)
    array = '<Array n="{}" type="string">{}</Array>'
    kept, others = array.format(2, "v0 v1"), array.format(3, "v2 v3 v4")
    node = f'<Node score="0"><SimpleSetPredicate field="c0" booleanOperator="isIn">{others}</SimpleSetPredicate></Node>'
    whole = whole.replace(
        f'booleanOperator="isNotIn">{kept}', f'booleanOperator="isIn">{array.format(3, "v5 v6 v7")}'
    )
    file.write_text(whole.replace("</Node></TreeModel>", f"{node}</Node></TreeModel>"))
    words = f"{WORDS}independent".replace("epsilon=1", "epsilon=0.01")
    found = outcome_of(file, table, claims=words)
    assert "group values in more than two branches" in found["reason"]


def test_an_interval_that_is_better_than_every_threshold_counts_as_the_best_of_them():
    classes = [[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 0]]
    people = people_in(classes)
    people = replace(people, columns={"age": NumericColumn(np.arange(6.0))})
    in_the_middle = np.array([1, 1, 2, 2, 1, 1])
    node = _SplitNode(people, np.array(classes, float), (1, 2), in_the_middle, "age", None)
    assert node.shares_as_good()[True, "gini"] == 1 / 5  # of five thresholds, none as good


# Private splits of other programs: the best ones are no draws, whatever their thresholds are.

PRIVATE = f"{WORDS}private, label_epsilon=0.2"


def rounded_text(tree, columns, end):
    """Return the text of a tree of whole numbers, with another end of each threshold between the same records."""
    trees = pytest.importorskip("sklearn.tree")
    return re.sub(r"(\d+)\.50", rf"\1.{end}", trees.export_text(tree, feature_names=columns))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("end", ["50", "00", "30"])
@pytest.mark.parametrize("is_best", [True, False])
def test_best_splits_of_whole_numbers_are_no_private_draws_wherever_their_thresholds_are(
    end, is_best, tmp_path
):
    trees = pytest.importorskip("sklearn.tree")
    table = five_columns(1)
    columns = ["sex", "grade", "age"]
    learner = trees.DecisionTreeClassifier if is_best else trees.ExtraTreeClassifier
    tree = learner(max_depth=4, max_features=None if is_best else 1, random_state=0)
    tree.fit(table[columns], table.ill)
    file = tmp_path / "tree.txt"
    file.write_text(rounded_text(tree, columns, end))
    found = outcome_of(file, table[[*columns, "ill"]], claims=PRIVATE)
    assert ("splits are" in found["reason"]) is is_best, found


@pytest.mark.parametrize("depth", [3, 4])
def test_best_sets_of_categories_are_no_private_draws(depth, tmp_path):
    table, file = categories(0), tmp_path / "tree.pmml"
    file.write_text(tree_of_sets(table, best_set, depth))
    found = outcome_of(file, table, claims=PRIVATE)
    assert found["outcome"] == "undetermined"
    assert "splits are better for this table than draws" in found["reason"]


@pytest.mark.parametrize("seed", seeds(20, quick=2, second=4))
def test_random_sets_of_categories_may_be_private_draws(seed, tmp_path):
    table, file = categories(seed), tmp_path / "tree.pmml"
    file.write_text(tree_of_sets(table, random_set(seed)))
    assert "splits" not in outcome_of(file, table, claims=PRIVATE)["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", seeds(16, quick=1, second=4))
@pytest.mark.parametrize(
    ("epsilon", "depth", "bins"), [(0.1, 6, 16), (1, 1, 4), (1, 3, 64), (20, 4, 16)]
)
def test_private_splits_in_a_file_without_their_learner_are_taken_for_draws(
    seed, epsilon, depth, bins, tmp_path
):
    learn = pytest.importorskip("treewarden.learn")
    trees = pytest.importorskip("sklearn.tree")
    table, file = five_columns(seed), tmp_path / "tree.txt"
    columns = list(table.columns[:-1])
    tree = learn.PrivateTreeClassifier(
        epsilon, bounds=BOUNDS, classes=[0, 1], max_depth=depth, bins=bins
    ).fit(table[columns], table.ill)
    file.write_text(trees.export_text(tree, feature_names=columns, decimals=9, max_depth=depth))
    words = f"mechanism=permute-and-flip-monotonic, bounds=public, label_epsilon={epsilon / 5}"
    found = outcome_of(file, table, claims=f"epsilon={epsilon}, splits=private, {words}")
    assert "splits" not in found["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("times", [30, None])
def test_deep_cuts_with_less_noise_than_is_claimed_leave_the_claim_of_the_learner_open(
    times, monkeypatch
):
    """Most cuts of a deep tree are as good as any other, so that only the sum of what few tell shows it."""
    learn = pytest.importorskip("treewarden.learn")
    drawn, random = private_growth.permute_and_flip, np.random.default_rng(0)

    def with_less_noise(scores, scale, _):
        is_best = times is None and len(scores) > 2
        scale *= 1 if times is None or len(scores) == 2 else times
        return scores.index(max(scores)) if is_best else drawn(scores, scale, integers_of(random))

    monkeypatch.setattr(private_growth, "permute_and_flip", with_less_noise)
    table = five_columns(0)
    columns = list(table.columns[:-1])
    tree = learn.PrivateTreeClassifier(1.0, bounds=BOUNDS, classes=[0, 1], max_depth=6)
    found = outcome_of(tree.fit(table[columns], table.ill), table)
    assert "are better for this table than draws" in found["reason"]


def test_all_levels_of_all_trees_share_what_labels_leave_of_epsilon():
    claimed = read_claim("epsilon=1, label_epsilon=0.1, splits=private", "a test")
    assert most_gain_weight(claimed, [1]) == most_gain_weight(claimed, [2]) == pytest.approx(0.9)
    assert most_gain_weight(claimed, [4]) == pytest.approx(2 * 0.9 / 4)
    assert most_gain_weight(claimed, [2, 3]) == pytest.approx(2 * 0.8 / 5)
    assert most_gain_weight(claimed, [1] * 20) == 0.0


def test_bets_on_draws_are_fair_and_one_over_the_mean_stake_is_a_probability():
    chances = [0.2, 0.5, 0.9, 1.0]
    mean = np.zeros(3)
    for taken in np.ndindex(2, 2, 2):
        found = [
            BestSplit(chance, bool(is_taken))
            for chance, is_taken in zip(chances, (*taken, True), strict=True)
        ]
        weight = np.prod([best.chance if best.is_taken else 1 - best.chance for best in found])
        mean += weight * np.exp(bets_on_best(found))
    assert mean == pytest.approx([1, 1, 1])
    # Of two draws with a chance of 1/10 both were taken: 100 to one, and a bet that lost.
    assert p_of_bets([np.log(100), -np.inf]) == pytest.approx(2 / 100)
    assert p_of_bets([-1.0]) == p_of_bets([]) == 1.0


@pytest.mark.parametrize("scale", [0.0, 0.3, 4.0])
def test_best_splits_are_drawn_as_rarely_as_the_exponential_mechanism_draws_them(scale):
    worths = np.array([9.0, 1.0, 2.0, 9.0, 5.0] * 20)
    evenly = np.full(100, 0.01)
    only, rare = best_splits(worths, [evenly], scale, 2.0)
    weights = np.exp(-scale * worths)
    assert only.chance == pytest.approx(weights[worths == 1].sum() / weights.sum())
    assert not only.is_taken
    assert rare.chance >= only.chance
    assert best_splits(worths, [evenly], scale, 1.0)[0].is_taken


# Leaves without people: their labels are drawn evenly, too.


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("filled", ["drawn", "root", "parent"])
def test_leaves_without_people_that_have_the_commonest_class_above_leave_a_claim_open(filled):
    learn = pytest.importorskip("treewarden.learn")
    table = five_columns(2)[:200]
    columns = list(table.columns[:-1])
    tree = learn.PrivateTreeClassifier(1.0, bounds=BOUNDS, classes=[0, 1], max_depth=7)
    tree.fit(table[columns], table.ill)
    state = tree.tree_.__getstate__()
    nodes, values = state["nodes"], state["values"].copy()
    leaves = nodes["left_child"] < 0
    paths = np.asarray(tree.decision_path(table[columns].to_numpy(np.float32)).todense())
    counts = np.stack([paths[table.ill == code].sum(axis=0) for code in (0, 1)], axis=1)
    above = {
        int(child): node
        for name in ("left_child", "right_child")
        for node, child in enumerate(nodes[name])
    }
    for leaf in np.flatnonzero(leaves & (counts.sum(axis=1) == 0)):
        node = 0 if filled == "root" else leaf
        while not counts[node].sum():
            node = above[int(node)]
        if filled != "drawn":
            values[leaf, 0] = np.eye(2)[counts[node].argmax()]
    tree.tree_.__setstate__({**state, "values": values})
    found = outcome_of(tree, table)
    assert ("labels of leaves without people" in found["reason"]) is (filled != "drawn")


def test_the_tail_of_even_labels_is_that_of_the_binomial_distribution():
    counts = np.array([[3.0, 1, 0]] * 4 + [[2, 2, 0]])
    tail = _tail_of_commonest(counts, np.array([0, 0, 0, 1, 0]))
    assert tail == pytest.approx(4 * (1 / 3) ** 3 * (2 / 3) + (1 / 3) ** 4)
    assert _tail_of_commonest(counts, np.array([1, 1, 1, 1, 0])) == 1.0
