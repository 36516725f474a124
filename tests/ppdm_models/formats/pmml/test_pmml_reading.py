"""What PMML says, in the words of the tree."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.kit.rows import rows
from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    OneOf,
    Surrogate,
)
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    Criterion,
    Feature,
    Learner,
    Missing,
    NoTrueChild,
    Stopping,
    Task,
)

FIELDS = """
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="height" optype="continuous" dataType="float"/>
<DataField name="rooms" optype="categorical" dataType="integer"><Value value="1"/><Value value="2"/></DataField>
<DataField name="stars" optype="ordinal" dataType="integer"><Value value="1"/><Value value="2"/></DataField>
<DataField name="member" optype="categorical" dataType="boolean"/>
<DataField name="city" optype="categorical" dataType="string"><Value value="a"/><Value value="b c"/>
  <Value value="?" property="missing"/></DataField>
<DataField name="y" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
"""
ACTIVE = ["age", "height", "rooms", "stars", "member", "city"]


def pmml(
    nodes,
    *,
    extra="",
    attributes='functionName="classification"',
    fields=FIELDS,
    root="PMML",
    target="y",
):
    schema = "".join(f'<MiningField name="{name}"/>' for name in ACTIVE if f'"{name}"' in fields)
    return (
        f"<{root}><DataDictionary>{fields}</DataDictionary><TreeModel {attributes}><MiningSchema>{schema}"
        f'<MiningField name="{target}" usageType="predicted"/></MiningSchema>{extra}{nodes}</TreeModel></PMML>'
    ).encode()


def read_test(predicate, extra=""):
    return load_tree(pmml(f"<Node>{predicate}</Node>", extra=extra), "x").root.test


def simple(field, operator, value=None):
    said = "" if value is None else f' value="{value}"'
    return f'<SimplePredicate field="{field}" operator="{operator}"{said}/>'


def compound(operator, *parts):
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'


def a_set(field, operator, array):
    start = f'<SimpleSetPredicate field="{field}" booleanOperator="{operator}">'
    return f"{start}<Array>{array}</Array></SimpleSetPredicate>"


UNDER, OVER = NumericTest("age", high=3.0), NumericTest("age", low=3.0)


@rows(
    ("predicate", "test"),
    [
        ("<True/>", Always()),
        ("<False/>", Never()),
        (simple("age", "lessThan", " 3 "), UNDER),
        (simple("age", "lessOrEqual", "3e0"), NumericTest("age", high=3.0, high_closed=True)),
        (simple("age", "greaterThan", "+3."), OVER),
        (simple("age", "greaterOrEqual", "3"), NumericTest("age", low=3.0, low_closed=True)),
        (simple("age", "equal", "3"), NumericTest("age", 3.0, 3.0, True, True)),
        (simple("age", "notEqual", "3"), AnyOf((UNDER, OVER))),
        (simple("age", "isMissing"), MissingTest("age")),
        (simple("city", "isNotMissing"), MissingTest("city", negated=True)),
        (simple("city", "equal", "b c"), CategoryTest("city", ("b c",))),
        (simple("city", "notEqual", "a"), CategoryTest("city", ("a",), negated=True)),
        (simple("rooms", "equal", "1.0"), CategoryTest("rooms", ("1",))),
        (simple("member", "equal", "true"), CategoryTest("member", ("true",))),
        (simple("member", "equal", "1"), CategoryTest("member", ("true",))),
        (simple("member", "notEqual", "true"), CategoryTest("member", ("false",))),
        (simple("member", "lessThan", "0.5"), CategoryTest("member", ("false",))),
        (simple("member", "lessThan", "true"), CategoryTest("member", ("false",))),
        (simple("member", "lessThan", "false"), Never()),
        (simple("member", "lessOrEqual", "1.0"), MissingTest("member", negated=True)),
        (simple("member", "greaterThan", "0"), CategoryTest("member", ("true",))),
        (simple("member", "greaterOrEqual", "true"), CategoryTest("member", ("true",))),
        (a_set("city", "isIn", ' a "b c" '), CategoryTest("city", ("a", "b c"))),
        (
            a_set("city", "isNotIn", r"&quot;a \"b\"&quot; &quot;&quot;"),
            CategoryTest("city", ('a "b"', ""), True),
        ),
        (a_set("age", "isIn", "3"), NumericTest("age", 3.0, 3.0, True, True)),
        (a_set("age", "isNotIn", "3 3"), AnyOf((UNDER, OVER))),
        (
            compound("and", simple("age", "greaterThan", 1), simple("age", "lessOrEqual", 3)),
            NumericTest("age", 1.0, 3.0, high_closed=True),
        ),
        (
            compound("and", simple("age", "greaterThan", 3), simple("age", "lessThan", 3)),
            AllOf((OVER, UNDER)),
        ),
        (
            compound("or", simple("city", "equal", "a"), simple("city", "equal", "b c")),
            CategoryTest("city", ("a", "b c")),
        ),
        (
            compound("or", simple("age", "isMissing"), simple("age", "lessThan", 3)),
            AnyOf((MissingTest("age"), UNDER)),
        ),
        (
            compound(
                "and",
                simple("city", "equal", "a"),
                compound("or", "<False/>", simple("age", "lessThan", 3)),
            ),
            AllOf((CategoryTest("city", ("a",)), AnyOf((Never(), UNDER)))),
        ),
        (compound("and", simple("age", "lessThan", 3)), UNDER),
        (
            compound("xor", simple("age", "lessThan", 3), simple("city", "equal", "a")),
            OneOf((UNDER, CategoryTest("city", ("a",)))),
        ),
        (
            compound("surrogate", simple("age", "lessThan", 3), "<False/>"),
            Surrogate((UNDER, Never())),
        ),
        (compound("surrogate", simple("age", "lessThan", 3)), UNDER),
        (simple("age", "lessOrEqual", "Infinity"), MissingTest("age", negated=True)),
        (simple("age", "greaterThan", "INF"), Never()),
        (simple("age", "greaterThan", "-INF"), MissingTest("age", negated=True)),
    ],
)
def test_a_predicate_is_understood(predicate, test):
    assert read_test(predicate) == test


def test_the_fields_are_typed_by_the_dictionary():
    assert load_tree(pmml("<Node><True/></Node>"), "x").features == (
        Feature("age", numeric=True),
        Feature("height", numeric=True, single=True),
        Feature("rooms", numeric=False, values=("1", "2")),
        Feature("stars", numeric=False, values=("1", "2")),
        Feature("member", numeric=False, values=("false", "true")),
        Feature("city", numeric=False, values=("a", "b c")),
    )


def test_an_integer_category_that_is_compared_by_order_is_a_number():
    tree = load_tree(pmml(f"<Node>{simple('rooms', 'lessThan', 2)}</Node>"), "x")
    assert tree.feature("rooms") == Feature("rooms", numeric=True)


@pytest.mark.parametrize(("kind", "single"), [("double", False), ("float", True)])
def test_a_renamed_field_is_the_field_itself(kind, single):
    extra = (
        f'<LocalTransformations><DerivedField name="years" optype="continuous" dataType="{kind}">'
        '<FieldRef field="age"/></DerivedField></LocalTransformations>'
    )
    tree = load_tree(pmml(f"<Node>{simple('years', 'lessThan', 3)}</Node>", extra=extra), "x")
    assert (tree.root.test, tree.feature("age").single) == (UNDER, single)


@pytest.mark.parametrize(
    "root",
    [
        'PMML xmlns="http://www.dmg.org/PMML-3_0" version="3.0"',
        'PMML xmlns="https://www.dmg.org/PMML-4_4" version="4.4"',
        "PMML",
    ],
)
def test_any_namespace_of_the_data_mining_group_will_do(root):
    assert load_tree(pmml("<Node><True/></Node>", root=root), "x").root.test == Always()


def test_a_prefix_will_do():
    data = re.sub("<(/?)", r"<\1ns1:", pmml("<Node><True/></Node>").decode())
    data = data.replace("<ns1:PMML", '<ns1:PMML xmlns:ns1="http://www.dmg.org/PMML-4_2"', 1)
    assert len(load_tree(data.encode(), "x").features) == 6


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_the_encoding_that_a_file_declares_is_honoured(encoding):
    said = encoding.removesuffix("-sig")
    text = pmml('<Node id="é"><True/></Node>').decode()
    data = f'<?xml version="1.0" encoding="{said}"?>{text}'.encode(encoding)
    assert load_tree(data, "x").root.name == "é"


def test_the_root_may_have_a_test_of_its_own():
    assert read_test(simple("age", "lessThan", 3)) == UNDER


def test_nodes_keep_their_ids_lines_scores_and_order():
    nodes = (
        '<Node id="top" score="no">\n<True/>\n<Node score="yes">\n<True/>\n</Node>\n'
        '<Node id="n1">\n<False/>\n</Node></Node>'
    )
    tree = load_tree(pmml(nodes, fields=FIELDS.replace("\n", "")), "x")
    assert [node.name for node in tree.nodes] == ["top", "n1_", "n1"]
    assert [node.line for node in tree.nodes] == [1, 3, 6]
    assert [node.score for node in tree.nodes] == ["no", "yes", None]
    assert tree.root.children == (1, 2)


def test_lines_beyond_65535_are_right():
    data = pmml("\n" * 70_000 + '<Node id="far"><True/></Node>', fields=FIELDS.replace("\n", ""))
    assert load_tree(data, "x").root.line == 70_001


def test_strategies_are_read():
    strategies = 'missingValueStrategy="defaultChild" noTrueChildStrategy="returnLastPrediction"'
    attributes = f'functionName="classification" {strategies}'
    tree = load_tree(
        pmml(
            '<Node id="1" defaultChild="2"><True/><Node id="2"><True/></Node></Node>',
            attributes=attributes,
        ),
        "x",
    )
    assert (tree.missing, tree.no_true_child, tree.root.default_child) == (
        Missing.DEFAULT_CHILD,
        NoTrueChild.LAST_PREDICTION,
        1,
    )


def test_the_strategies_of_clementine_stand_in_extensions():
    extra = '<Extension name="missingValueStrategy" value="lastPrediction"/>'
    assert (
        load_tree(pmml("<Node><True/></Node>", extra=extra), "x").missing is Missing.LAST_PREDICTION
    )


def test_classes_are_those_declared_or_those_found():
    bare = FIELDS.replace('<Value value="no"/><Value value="yes"/>', "")
    nodes = (
        '<Node score="b"><True/><ScoreDistribution value="c" recordCount="1"/>'
        '<ScoreDistribution value="b" recordCount="2"/>'
        '<Node score="a"><True/></Node></Node>'
    )
    assert load_tree(pmml("<Node><True/></Node>"), "x").classes == ("no", "yes")
    assert load_tree(pmml(nodes, fields=bare), "x").classes == ("b", "c", "a")


def test_a_label_written_as_another_number_is_the_same_class():
    fields = FIELDS.replace('"no"', '"0"').replace('"yes"', '"1"')
    assert load_tree(pmml('<Node score="1.0"><True/></Node>', fields=fields), "x").root.score == "1"


def test_labels_are_mapped_to_the_raw_values():
    bare = FIELDS.replace('<Value value="no"/><Value value="yes"/>', "")
    extra = '<Targets><Target field="y"><TargetValue value="YES" rawDataValue="yes    "/></Target></Targets>'
    assert (
        load_tree(
            pmml('<Node score="YES"><True/></Node>', fields=bare, extra=extra), "x"
        ).root.score
        == "yes"
    )


def test_a_leaf_without_a_score_predicts_its_largest_class():
    distribution = "".join(
        f'<ScoreDistribution value="{label}" recordCount="{count}"/>'
        for label, count in (("no", 1), ("yes", 2))
    )
    assert load_tree(pmml(f"<Node><True/>{distribution}</Node>"), "x").root.score == "yes"


def test_a_regression_tree_publishes_numbers():
    fields = FIELDS.replace(
        '<DataField name="y" optype="categorical" dataType="string">', '<DataField name="y">'
    )
    nodes = '<Node score=" 1.5 " recordCount="3"><True/></Node>'
    tree = load_tree(pmml(nodes, fields=fields, attributes='functionName="regression"'), "x")
    assert (tree.task, tree.classes, tree.root.score, tree.root.records) == (
        Task.REGRESSION,
        (),
        1.5,
        3.0,
    )


def test_a_mining_model_around_a_single_tree_is_taken_off():
    inner = pmml("<Node><True/></Node>").decode()
    start, end = inner.index("<TreeModel"), inner.index("</PMML>")
    wrapped = (
        f'{inner[:start]}<MiningModel functionName="classification"><MiningSchema/><Segmentation '
        f'multipleModelMethod="majorityVote"><Segment><True/>{inner[start:end]}</Segment></Segmentation></MiningModel></PMML>'
    )
    assert load_tree(wrapped.encode(), "x").target == "y"


def built(text):
    task = f'<MiningBuildTask><Extension name="repr">{text}</Extension></MiningBuildTask><DataDictionary>'
    nodes = '<Node recordCount="101"><True/></Node>'
    return load_tree(pmml(nodes).decode().replace("<DataDictionary>", task).encode(), "x").learner


@pytest.mark.parametrize(
    ("text", "learner"),
    [
        (
            "DecisionTreeClassifier(criterion='entropy', min_samples_leaf=5, random_state=1)",
            Learner(Criterion.ENTROPY, 5, multiway=False),
        ),
        (
            "PMMLPipeline(steps=[('c', DecisionTreeClassifier())])",
            Learner(Criterion.GINI, multiway=False),
        ),
        (
            "DecisionTreeClassifier(criterion='log_loss')",
            Learner(Criterion.ENTROPY, multiway=False),
        ),
        (
            "DecisionTreeClassifier(min_samples_leaf=0.05)",
            Learner(Criterion.GINI, 6, multiway=False),
        ),
        (
            "DecisionTreeClassifier(max_features=2)",
            Learner(Criterion.GINI, 1, False, multiway=False),
        ),
        (
            "DecisionTreeClassifier(splitter='random')",
            Learner(Criterion.GINI, 1, False, multiway=False, draws_cuts=True),
        ),
        (
            "ExtraTreeClassifier()",
            Learner(Criterion.GINI, 1, False, multiway=False, draws_cuts=True),
        ),
        ("DecisionTreeRegressor()", Learner(None, multiway=False)),
        (
            "DecisionTreeClassifier(class_weight={0: 2, 1: 1}, monotonic_cst=None)",
            Learner(Criterion.GINI, multiway=False, unmodelled=("class_weight",)),
        ),
        ("RandomForestClassifier(n_estimators=10)", Learner()),
        ("DecisionTreeClassifier(" * 50_000, Learner()),
    ],
)
def test_how_the_tree_was_grown_is_read_from_the_settings(text, learner):
    tool = Tool.UNKNOWN if learner == Learner() else Tool.SCIKIT_LEARN
    assert built(text) == replace(learner, tool=tool)


@pytest.mark.parametrize(("said", "tool"), [("JPMML-SparkML", Tool.SPARK), ("SPSS", Tool.UNKNOWN)])
def test_the_program_that_grew_the_tree_is_known_by_its_exporter(said, tool):
    header = f'<PMML><Header><Application name="{said}" version="1"/></Header>'.encode()
    document = pmml("<Node><True/></Node>").replace(b"<PMML>", header)
    assert load_tree(document, "x").learner.tool is tool


@pytest.mark.parametrize(
    ("text", "stopping"),
    [
        ("DecisionTreeClassifier(random_state=1)", Stopping()),
        (
            "DecisionTreeClassifier(max_depth=3, min_samples_split=0.05, ccp_alpha=0.01)",
            Stopping(3, 6, pruning_alpha=0.01),
        ),
        (
            "DecisionTreeClassifier(max_depth=None, max_leaf_nodes=8, min_impurity_decrease=1e-3)",
            Stopping(max_leaves=8, min_impurity_decrease=1e-3),
        ),
        ("DecisionTreeClassifier(max_depth=numpy.int64(3))", None),
    ],
)
def test_why_the_tree_stopped_is_read_from_the_settings(text, stopping):
    assert built(text).stopping == stopping


def test_our_own_extensions_say_how_the_tree_was_grown():
    extra = (
        '<Extension name="treewarden:criterion" value="gain-ratio"/>'
        '<Extension name="treewarden:min-leaf-records" value="7"/>'
    )
    assert load_tree(pmml("<Node><True/></Node>", extra=extra), "x").learner == Learner(
        Criterion.GAIN_RATIO, 7
    )


@pytest.mark.parametrize(
    ("second", "note"),
    [
        (
            simple("age", "greaterThan", 2),
            "x:1: node 'n0': its children 'n1' (age < 3) and 'n2' (age > 2) both take a record with age = 2.5; "
            "it goes to the first child whose test is true",
        ),
        (
            simple("age", "greaterThan", 3),
            "x:1: node 'n0': no child takes a record with age = 3; the tree makes no prediction for it",
        ),
    ],
)
def test_children_that_do_not_split_their_node_are_noted(second, note):
    nodes = f"<Node><True/><Node>{simple('age', 'lessThan', 3)}</Node><Node>{second}</Node></Node>"
    tree = load_tree(pmml(nodes, fields=FIELDS.replace("\n", "")), "x")
    assert tree.notes == (note,)
    assert math.isinf(tree.nodes[1].test.low)


def test_a_confidence_of_more_than_one_is_no_share():
    distribution = "".join(
        f'<ScoreDistribution value="{label}" recordCount="1" confidence="1.5"/>'
        for label in ("no", "yes")
    )
    assert load_tree(pmml(f"<Node><True/>{distribution}</Node>"), "x").root.class_shares is None


@pytest.mark.parametrize("operator", ["lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual"])
@pytest.mark.parametrize("value", ["0.5", "true", "false", "1", "0.0"])
def test_truth_values_are_ordered_as_the_reference_evaluator_orders_them(tmp_path, operator, value):
    jpmml = pytest.importorskip("jpmml_evaluator", reason="compares with JPMML itself")
    pandas = pytest.importorskip("pandas", reason="hands records to JPMML")
    yes = f'<Node score="yes">{simple("member", operator, value)}</Node>'
    start = b'<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>'
    nodes = f'<Node><True/>{yes}<Node score="no"><True/></Node></Node>'
    data = pmml(nodes).replace(b"<PMML>", start)
    (tmp_path / "m.pmml").write_bytes(data)
    evaluator = jpmml.make_evaluator(tmp_path / "m.pmml", backend="jpype")
    records = pandas.DataFrame(
        {name: [None, None] for name in ACTIVE} | {"member": [False, True]}, dtype=object
    )
    said = evaluator.evaluateAll(records, parallelism=1)["y"].tolist()
    tree = load_tree(data, "x")
    column = CategoricalColumn(np.array([0, 1]), ("false", "true"))
    stops = route(tree, {"member": column})
    assert [tree.nodes[stop].score for stop in stops] == said
