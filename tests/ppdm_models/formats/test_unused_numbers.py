"""What a file prints at its nodes beyond what a tree carries is told, so that no audit passes over it in silence."""

import json
import re
from dataclasses import replace

import pytest

from tests.kit import places
from treewarden.policies.remedies._withholding import label_only
from treewarden.ppdm_models.files.load import formats, load_model, load_tree, writers
from treewarden.ppdm_models.formats.pmml._write import IMPURITY
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.nodes import Impurity
from treewarden.ppdm_models.tree.tree import Criterion, Quality

SAMPLES = places.DATA / "formats"
DOT = """digraph Tree {
node [shape=box] ;
0 [label="x <= 0.5\\nCRITERION = 0.5\\nsamples = 100.0%\\nvalue = [0.5, 0.5]\\nclass = a"] ;
1 [label="CRITERION = 0.245\\nsamples = 50.0%\\nvalue = [0.857, 0.143]\\nclass = a"] ;
0 -> 1 ;
2 [label="CRITERION = 0.245\\nsamples = 50.0%\\nvalue = [0.143, 0.857]\\nclass = b"] ;
0 -> 2 ;
}
"""
GOLF = (SAMPLES / "pmml" / "good" / "golf.pmml").read_bytes()


def sample(name):
    return (SAMPLES / name).read_bytes()


def unused(data):
    return {kind for tree in trees_of(load_model(data, "file")) for kind in tree.unused}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("partykit_text/good/party_ctree.txt", "the test statistics of its splits"),
        ("rpart_json/good/plain.json", "how much other splits of its nodes would improve"),
        ("rpart_summary/good/classes.summary", "how much other splits of its nodes would improve"),
    ],
)
def test_numbers_that_no_audit_reads_are_named(name, kind):
    assert unused(sample(name)) == {kind}


SPREAD = "how far the numbers of its nodes spread"
REPTREE = """=== Classifier model (full training set) ===


REPTree
============

x < 1.5 : 41.67 (2/38.89) [1/25]
x >= 1.5 : 110.17 (2/63.39) [1/25]

Size of the tree : 3

=== Cross-validation ===

Correlation coefficient                  0.9
Mean absolute error                      1.5
"""


@pytest.mark.parametrize(
    "name",
    [
        "partykit_text/good/partykit_costs.txt",
        "rpart_json/good/costs.json",
        "rpart_summary/good/numbers.summary",
        "rpart_text/good/costs.txt",
    ],
)
def test_deviances_of_trees_of_numbers_are_named(name):
    assert unused(sample(name)) == {SPREAD}


def test_how_far_numbers_spread_is_named_of_weka_and_of_drawings():
    assert unused(REPTREE.encode()) == {SPREAD}
    drawn = re.sub(r"value = \[.*?\]\\nclass = .", "value = 1.5", DOT)
    named = {"the squared_error of its nodes"}
    assert unused(drawn.replace("CRITERION", "squared_error").encode()) == named
    assert not unused(re.sub(r"CRITERION = [\d.]+\\n", "", drawn).encode())


def test_a_printed_tree_of_numbers_without_deviances_has_nothing_to_name():
    data = sample("rpart_text/good/costs.txt").decode()
    bare = re.sub(r"( \d+ +)[\d.]+( +[\d.]+ +\*?)$", r"\1NA\2", data, flags=re.MULTILINE)
    assert bare != data
    assert not unused(bare.encode())


def test_distributions_of_numbers_of_bigml_are_named():
    data = json.loads(sample("bigml_json/good/tree.json"))
    assert not unused(json.dumps(data).encode())
    model = (data.get("object") or data)["model"]
    model["fields"]["000001"] |= {"optype": "numeric", "datatype": "double", "summary": {}}
    for number, node in enumerate([model["root"], *model["root"]["children"]]):
        node |= {"output": float(number), "objective_summary": {"bins": [[number, node["count"]]]}}
    assert unused(json.dumps(data).encode()) == {"how the numbers of its nodes are distributed"}


def test_weighted_class_numbers_of_spark_are_named():
    lines = [json.loads(line) for line in sample("spark_rows/good/classes.jsonl").splitlines()]
    for line in lines:
        line["impurityStats"] = [2 * stat for stat in line["impurityStats"]]
    data = "\n".join(map(json.dumps, lines)).encode()
    assert unused(data) == {"the weighted class numbers and impurities of its nodes"}


def test_weighted_class_numbers_of_bigml_are_named():
    data = json.loads(sample("bigml_json/good/tree.json"))
    (data.get("object") or data)["weight_field"] = "000004"
    assert unused(json.dumps(data).encode()) == {"the weighted class numbers of its nodes"}


@pytest.mark.parametrize(("name", "unit"), [("gini", 1.0), ("entropy", 0.6931471805599453)])
def test_a_drawn_impurity_lies_where_its_rounding_allows(name, unit):
    said = load_tree(DOT.replace("CRITERION", name).encode(), "dot").nodes[1].impurity
    assert said.criterion == name
    assert said.low == pytest.approx(0.2445 * unit)
    assert said.high == pytest.approx(0.2455 * unit)


def test_zeros_at_the_end_of_a_drawn_impurity_are_not_taken_for_less_digits():
    said = load_tree(DOT.replace("CRITERION", "gini").encode(), "dot").root.impurity
    assert (said.low, said.high) == pytest.approx((0.4995, 0.5005))


def test_an_impurity_without_the_name_of_its_criterion_is_named_as_not_used():
    tree = load_tree(DOT.replace("CRITERION", "impurity").encode(), "dot")
    assert (tree.root.impurity, tree.unused) == (None, ("the impurity of its nodes",))


@pytest.mark.parametrize("drawn", ["-7e-3", "-0.245", "-3"])
def test_an_impurity_that_no_node_can_have_is_named_as_not_used(drawn):
    dot = DOT.replace("CRITERION", "gini").replace("0.245", drawn)
    assert drawn in dot
    tree = load_tree(dot.encode(), "dot")
    assert (tree.nodes[1].impurity, tree.unused) == (None, ("the gini of its nodes",))


def extended(value=b'<Extension name="chiSquare" value="3.5"/>'):
    """The golf tree with labels only and an extension at its root."""
    tree = load_tree(GOLF, "golf")
    bare = tree.__class__(
        tuple(
            node.__class__(node.index, node.name, node.parent, node.children, node.test, node.score)
            for node in tree.nodes
        ),
        tree.features,
        tree.target,
        tree.classes,
        quality=Quality.ABSENT,
    )
    data = writers()["pmml"].write(bare)
    head, mark, rest = data.partition(b"<True/>")
    return head + value + mark + rest


def test_numbers_in_extensions_are_named_where_class_counts_do_not_imply_them():
    assert unused(extended()) == {"the numbers 'chiSquare' at its nodes"}
    head, mark, rest = GOLF.partition(b"<True/>")
    assert unused(head + b'<Extension name="chiSquare" value="3.5"/>' + mark + rest) == set()


def rewritten(data, **changes):
    """Return a PMML file with its tree changed in place."""
    plugin = formats()["pmml"]
    tree = plugin.open(data, "file").model
    nodes = tuple(replace(node, impurity=None) for node in tree.nodes)
    return plugin.open(data, "file").rewrite(replace(tree, nodes=nodes, **changes))


def test_what_no_audit_uses_leaves_a_file_whose_numbers_are_withheld():
    assert b"chiSquare" not in rewritten(extended(), unused=())


def test_an_impurity_leaves_a_file_in_place_when_it_is_withheld():
    part = f'<Extension name="{IMPURITY}" value="gini 0.4 0.5"/>'.encode()
    assert load_tree(extended(part), "file").root.impurity == Impurity(Criterion.GINI, 0.4, 0.5)
    assert IMPURITY.encode() not in rewritten(extended(part))


@pytest.mark.parametrize("name", ["pmml", "treewarden_json"])
def test_no_impurity_is_written_where_counts_are_withheld(name):
    tree = load_tree(DOT.replace("CRITERION", "gini").encode(), "dot")
    bare = replace(tree, nodes=tuple(label_only(tree, node) for node in tree.nodes))
    assert b"impurity" in writers()[name].write(tree)
    assert b"impurity" not in writers()[name].write(bare)


@pytest.mark.parametrize("said", ["gini 0.5", "gini-ratio 0 1", "gini 0.6 0.5", "gini x y"])
def test_a_wrong_impurity_in_pmml_is_refused(said):
    part = f'<Extension name="{IMPURITY}" value="{said}"/>'.encode()
    with pytest.raises(Exception, match="the impurity is"):
        load_tree(extended(part), "file")
