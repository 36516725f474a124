"""MiningModels: several trees in one PMML file, and how their scores are put together."""

import math

import numpy as np
import pytest

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, NonTreeModel
from treewarden.ppdm_models.tree.predicate import Always, NumericTest
from treewarden.ppdm_models.tree.tree import Task, Tree

FIELDS = """<DataDictionary><DataField name="x" optype="continuous" dataType="double"/>
<DataField name="y" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
<DataField name="z" optype="continuous" dataType="double"/></DataDictionary>"""
SCHEMA = '<MiningSchema><MiningField name="x"/></MiningSchema>'
TARGET = (
    '<MiningSchema><MiningField name="x"/><MiningField name="y" usageType="target"/></MiningSchema>'
)


def tree(low, high, at=5, function="regression", target=""):
    tests = [f'operator="{operator}" value="{at}"' for operator in ("lessOrEqual", "greaterThan")]
    nodes = "".join(
        f'<Node score="{score}"><SimplePredicate field="x" {test}/></Node>'
        for score, test in zip((low, high), tests, strict=True)
    )
    schema = SCHEMA if function == "regression" else TARGET
    return f'<TreeModel functionName="{function}">{schema}{target}<Node><True/>{nodes}</Node></TreeModel>'


def mining(method, *segments, function="regression", inside="", schema=SCHEMA):
    parts = "".join(
        part if part.startswith("<Segment") else f"<Segment><True/>{part}</Segment>"
        for part in segments
    )
    return (
        f'<MiningModel functionName="{function}">{schema}{inside}<Segmentation multipleModelMethod="{method}">'
        f"{parts}</Segmentation></MiningModel>"
    )


def load(*models):
    return load_model(f"<PMML>{FIELDS}{''.join(models)}</PMML>".encode(), "x.pmml")


def scores(model, *values):
    return predict(model, {"x": NumericColumn(np.array(values, dtype=float))}).tolist()


@pytest.mark.parametrize(
    ("method", "combination", "expected"),
    [
        ("sum", Combination.SUM, 4.0),
        ("average", Combination.AVERAGE, 2.0),
        ("weightedAverage", Combination.WEIGHTED_AVERAGE, 2.5),
        ("weightedSum", Combination.WEIGHTED_SUM, 10.0),
        ("x-weightedSum", Combination.WEIGHTED_SUM, 10.0),
        ("median", Combination.MEDIAN, 2.0),
        ("max", Combination.MAX, 3.0),
        ("selectFirst", Combination.SELECT_FIRST, 1.0),
    ],
)
def test_the_members_are_combined_as_the_file_says(method, combination, expected):
    members = [
        f'<Segment weight="{weight}"><True/>{tree(score, 0)}</Segment>'
        for weight, score in ((1, 1), (3, 3))
    ]
    model = load(mining(method, *members))
    assert model.combination is combination
    assert scores(model, 0.0) == [[expected]]


@pytest.mark.parametrize("method", ["selectAll", "modelChain", "x-other"])
def test_what_is_not_evaluated_is_still_read(method):
    model = load(mining(method, tree(1, 2), tree(3, 4)))
    assert sum(1 for _ in model.trees) == 2
    with pytest.raises(ValueError, match="not evaluated"):
        scores(model, 0.0)


def test_votes_are_counted():
    parts = [tree(label, "no", function="classification") for label in ("yes", "yes", "no")]
    model = load(mining("majorityVote", *parts, function="classification", schema=TARGET))
    assert labels(model, predict(model, {"x": NumericColumn(np.array([0.0, 9.0]))})) == [
        "yes",
        "no",
    ]


def test_segments_keep_their_condition_and_weight():
    segment = (
        '<Segment id="s" weight="2"><SimplePredicate field="x" operator="lessThan" value="3"/>'
        f"{tree(1, 2)}</Segment>"
    )
    member = load(mining("weightedSum", segment)).members[0]
    assert (member.name, member.weight, member.test) == ("s", 2.0, NumericTest("x", high=3.0))


def test_a_single_plain_tree_stays_a_tree():
    assert isinstance(load(mining("average", mining("sum", tree(1, 2)))), Tree)


def test_parts_that_are_no_trees_are_named():
    regression = '<RegressionModel modelName="r" functionName="regression"/>'
    model = load(mining("average", tree(1, 2), regression))
    assert [(part.kind, part.name) for part in model.others] == [("RegressionModel", "r")]


def test_a_file_of_no_tree_says_what_it_holds():
    with pytest.raises(
        TreeFormatError, match=r"this PMML file contains no tree model \(found Scorecard\)"
    ):
        load('<Scorecard functionName="regression"/>')


def test_two_models_of_one_file_are_both_read_each_for_itself():
    model = load(tree(1, 2), tree(3, 4))
    assert (model.combination, len(model.members)) == (Combination.SELECT_ALL, 2)


def result(name):
    return f'<Output><OutputField name="{name}"/></Output>'


def target(constant, factor):
    return f'<Targets><Target rescaleConstant="{constant}" rescaleFactor="{factor}"/></Targets>'


def boosted(method, tables, *sums):
    last = (
        f'<RegressionModel functionName="classification" normalizationMethod="{method}">{TARGET}{tables}'
        "</RegressionModel>"
    )
    return load(mining("modelChain", *sums, last, function="classification", schema=TARGET))


def table(label, name=None):
    term = "" if name is None else f'<NumericPredictor name="{name}" coefficient="1"/>'
    return f'<RegressionTable intercept="0" targetCategory="{label}">{term}</RegressionTable>'


def test_a_chain_of_a_sum_and_a_logit_is_one_ensemble():
    total = mining("sum", tree(1, 2), tree(3, 4), inside=result("f") + target(0.5, 0.1))
    model = boosted("logit", table("yes", "f") + table("no"), total)
    assert (model.link, model.base, model.classes) == (Link.LOGISTIC, (0.5,), ("no", "yes"))
    chance = 1 / (1 + math.exp(-(0.5 + 0.1 * 4)))
    assert scores(model, 0.0) == [pytest.approx([1 - chance, chance])]


@pytest.mark.parametrize(
    ("inside", "is_one"),
    [("<Extension/>", True), ('<Apply function="exp"><FieldRef field="x"/></Apply>', False)],
)
def test_a_result_that_is_worked_out_of_others_is_no_sum(inside, is_one):
    output = f'<Output><OutputField name="f">{inside}</OutputField></Output>'
    total = mining("sum", tree(1, 2), tree(3, 4), inside=output)
    model = boosted("logit", table("yes", "f") + table("no"), total)
    assert (model.link is Link.LOGISTIC) is is_one
    assert (model.combination is Combination.MODEL_CHAIN) is not is_one


def test_a_chain_of_sums_and_a_softmax_keeps_the_declared_order_of_the_classes():
    sums = [
        mining("sum", tree(score, 0), tree(score, 0), inside=result(name))
        for name, score in (("f", 1), ("g", 2))
    ]
    model = boosted("softmax", table("yes", "f") + table("no", "g"), *sums)
    assert (model.link, model.classes) == (Link.SOFTMAX, ("no", "yes"))
    assert [member.output for member in model.members] == [1, 1, 0, 0]
    chance = 1 / (1 + math.exp(2))
    assert scores(model, 0.0) == [pytest.approx([1 - chance, chance])]


@pytest.mark.parametrize("other", ["f", "x"])
def test_a_softmax_of_the_same_sum_twice_or_of_no_sum_leaves_the_chain_as_it_is(other):
    total = mining("sum", tree(1, 0), tree(1, 0), inside=result("f"))
    model = boosted("softmax", table("yes", "f") + table("no", other), total)
    assert model.combination is Combination.MODEL_CHAIN


def test_a_regression_that_does_more_than_a_link_leaves_the_chain_as_it_is():
    total = mining("sum", tree(1, 2), tree(3, 4), inside=result("f"))
    more = table("yes", "f").replace("</Reg", '<NumericPredictor name="x" coefficient="1"/></Reg')
    model = boosted("logit", more + table("no"), total)
    assert model.combination is Combination.MODEL_CHAIN
    assert [type(member.model) for member in model.members] == [Ensemble, NonTreeModel]


def test_targets_of_a_single_tree_change_its_scores():
    model = load(tree(1, 2, target=target(0.5, 10)))
    assert [leaf.score for leaf in model.leaves] == [10.5, 20.5]


def test_targets_of_an_average_change_what_it_gives():
    model = load(mining("average", tree(1, 2), tree(3, 4), inside=target(0.5, 10)))
    assert scores(model, 0.0) == [[20.5]]


def test_a_cast_of_the_combined_score_is_noted_and_not_evaluated():
    cast = '<Targets><Target castInteger="round"/></Targets>'
    model = load(mining("average", tree(1, 2), tree(3, 4), inside=cast))
    assert model.link is Link.UNKNOWN
    assert "those after Targets (rescaled or rounded)" in model.notes[0]


def test_models_embedded_before_version_4_are_a_chain():
    decision = (
        tree(1, 2).replace("TreeModel", "DecisionTree").replace(SCHEMA, "").replace('"x"', '"term"')
    )
    first = '<Regression functionName="regression"><ResultField name="term" feature="predictedValue"/></Regression>'
    model = load(f'<MiningModel functionName="regression">{SCHEMA}{first}{decision}</MiningModel>')
    assert [type(member.model) for member in model.members] == [NonTreeModel, Tree]
    assert "'term' is the prediction of an earlier part" in next(model.trees).notes[0]


@pytest.mark.parametrize("root", ["TreeModel", "Segment"])
def test_a_fragment_is_read_where_it_can_be_understood(root):
    fragment = tree(1, 2) if root == "TreeModel" else f"<Segment><True/>{tree(1, 2)}</Segment>"
    model = load_model(fragment.encode(), "x")
    assert (model.task, model.feature("x").numeric) == (Task.REGRESSION, True)


def test_trees_that_name_other_classes_are_brought_into_one_order():
    undeclared = FIELDS.replace('<Value value="no"/><Value value="yes"/>', "")
    parts = [tree(*pair, function="classification") for pair in (("a", "b"), ("b", "c"))]
    whole = mining("majorityVote", *parts, function="classification", schema=TARGET)
    model = load_model(f"<PMML>{undeclared}{whole}</PMML>".encode(), "x")
    assert {tree.classes for tree in model.trees} == {("a", "b", "c")}


def test_a_field_that_one_tree_compares_and_another_does_not_is_a_number_in_both():
    fields = FIELDS.replace('name="x" optype="continuous" dataType="double"', 'name="x"')
    model = load_model(
        f"<PMML>{fields}{mining('sum', tree(1, 2), tree(3, 4))}</PMML>".encode(), "x"
    )
    assert model.features[0].numeric


@pytest.mark.parametrize(
    ("segment", "said"),
    [
        (f"<Segment>{tree(1, 2)}</Segment>", "the Segment has no predicate"),
        (
            f'<Segment weight="NaN"><True/>{tree(1, 2)}</Segment>',
            "the weight 'NaN' is not a finite",
        ),
    ],
)
def test_a_segment_that_is_not_understood_is_refused(segment, said):
    with pytest.raises(TreeFormatError, match=said):
        load(mining("sum", segment))


def test_an_unknown_way_to_combine_is_refused():
    with pytest.raises(
        TreeFormatError, match="unknown multipleModelMethod 'guess'; known values: sum"
    ):
        load(mining("guess", tree(1, 2), tree(3, 4)))


@pytest.mark.parametrize(
    ("settings", "resampled"),
    [
        ("RandomForestClassifier(n_estimators=10)", True),
        ("RandomForestClassifier(bootstrap=False)", False),
        ("ExtraTreesClassifier()", False),
        ("GradientBoostingClassifier()", None),
    ],
)
def test_whether_each_tree_has_a_bootstrap_sample_is_read_from_the_settings(settings, resampled):
    task = f"<MiningBuildTask><Extension>{settings}</Extension></MiningBuildTask>"
    model = load(task, mining("sum", tree(1, 2), tree(3, 4)))
    assert model.sampling.resampled is resampled


def test_a_plain_member_speaks_for_every_record():
    assert load(mining("sum", tree(1, 2), tree(3, 4))).members[0].test == Always()
