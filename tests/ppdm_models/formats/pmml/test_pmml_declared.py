"""What a PMML file names without declaring it as the standard wants: read where its meaning is sure."""

import numpy as np
import pytest

from tests.kit import places
from tests.kit.rows import rows
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import load_tree, read_tree
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.tree import Task

GOOD = places.DATA / "formats" / "pmml" / "good"


def pmml(fields, node, function='functionName="regression"', schema='<MiningField name="x"/>'):
    return (
        f"<PMML><DataDictionary>{fields}</DataDictionary><TreeModel {function}><MiningSchema>"
        f'{schema}<MiningField name="y" usageType="target"/></MiningSchema>{node}</TreeModel></PMML>'
    ).encode()


Y = '<DataField name="y" optype="continuous" dataType="double"/>'
X = '<DataField name="x" optype="continuous" dataType="double"/>'
SPLIT = """<Node score="0"><True/><Node score="1"><SimplePredicate field="{}" operator="lessThan" value="2"/></Node>
<Node score="3"><SimplePredicate field="{}" operator="greaterOrEqual" value="2"/></Node></Node>"""


def bigml(name, own):
    return (
        f'<DataField name="{name}" optype="continuous" dataType="double">'
        f'<Extension name="BigML-Field_ID" value="{own}"/></DataField>'
    )


def test_a_class_that_only_a_score_names_is_a_class_and_noted():
    tree = read_tree(GOOD / "undeclared_score.pmml")
    assert tree.classes == ("yes", "no", "maybe")
    assert "classes that the target does not declare: 'maybe'" in tree.notes[0]
    columns = {
        "temperature": NumericColumn(np.array([70.0])),
        "outlook": CategoricalColumn(codes=np.array([0]), categories=("sunny",)),
    }
    assert labels(tree, predict(tree, columns)) == ["maybe"]


def test_a_class_that_only_a_distribution_names_keeps_its_records():
    tree = read_tree(GOOD / "undeclared_class.pmml")
    assert tree.classes[2] == "maybe"
    assert any(node.class_counts and node.class_counts[2] for node in tree.nodes)


def test_a_field_may_go_by_the_name_that_bigml_gives_it():
    schema = '<MiningField name="000001"/>'
    data = pmml(bigml("age", "000001") + Y, SPLIT.format("000001", "000001"), schema=schema)
    tree = load_tree(data, "m.pmml")
    assert [feature.name for feature in tree.features] == ["age"]
    assert [node.test.feature for node in tree.leaves] == ["age", "age"]


def test_one_name_for_two_fields_is_refused():
    data = pmml(bigml("age", "01") + bigml("size", "01") + Y, SPLIT.format("age", "age"))
    with pytest.raises(TreeFormatError, match="two fields have the same BigML-Field_ID"):
        load_tree(data, "m.pmml")


def test_a_declared_name_goes_before_what_bigml_calls_another_field():
    data = pmml(bigml("age", "x") + X + Y, SPLIT.format("x", "x"))
    assert [feature.name for feature in load_tree(data, "m.pmml").features] == ["x"]


@pytest.mark.parametrize(
    ("kind", "task"),
    [("continuous", Task.REGRESSION), ("categorical", Task.CLASSIFICATION)],
)
def test_what_is_predicted_follows_from_the_target_where_the_model_does_not_say_it(kind, task):
    target = f'<DataField name="y" optype="{kind}" dataType="double"/>'
    tree = load_tree(pmml(X + target, SPLIT.format("x", "x"), function=""), "m.pmml")
    assert tree.task is task
    assert "functionName" in tree.notes[0]


@rows(
    ("nodes", "advice"),
    [
        (SPLIT.replace("<True/>", "").format("x", "x"), "write <True/>, which takes all records"),
        (
            SPLIT.format("x", "x").replace("</Node></Node>", '</Node><Node score="1"/></Node>'),
            "export it again",
        ),
    ],
)
def test_a_node_without_a_predicate_is_refused_as_nobody_knows_whom_it_takes(nodes, advice):
    with pytest.raises(TreeFormatError, match=f"it has no predicate; {advice}"):
        load_tree(pmml(X + Y, nodes), "m.pmml")


def test_what_early_files_call_a_composite_predicate_is_a_compound_one():
    node = """<Node score="0"><True/><Node score="1"><CompositePredicate booleanOperator="or">
    <SimplePredicate field="x" operator="equal" value="1"/><SimplePredicate field="x" operator="equal" value="2"/>
    </CompositePredicate></Node></Node>"""
    tree = load_tree(pmml(X + Y, node), "m.pmml")
    assert len(tree.nodes[1].test.parts) == 2
