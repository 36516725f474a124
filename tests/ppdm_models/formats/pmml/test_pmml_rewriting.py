"""Writing a changed model back into its PMML file: what did not change stays byte for byte."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit import places
from tests.kit.tiers import examples
from tests.ppdm_models.tree_strategies import trees
from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_model
from treewarden.ppdm_models.formats.common.xml_edit import XmlDocument
from treewarden.ppdm_models.formats.pmml._rewrite import rewritten as written_anew
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.predicate import AllOf, CategoryTest, NumericTest, OneOf, Surrogate
from treewarden.ppdm_models.tree.tree import Quality, rebuilt

PMML = formats()["pmml"]
GOOD = places.DATA / "formats" / "pmml" / "good"
GOLF = (GOOD / "golf.pmml").read_bytes()


def pruned(tree, index):
    nodes = [
        replace(node, children=(), default_child=None) if node.index == index else node
        for node in tree.nodes
    ]
    return rebuilt(tree, nodes)


def rewritten(data, changed):
    return PMML.open(data, "x").rewrite(changed)


@pytest.mark.parametrize("path", sorted(GOOD.iterdir()), ids=lambda path: path.stem)
def test_nothing_changed_is_the_same_bytes(path):
    data = path.read_bytes()
    assert rewritten(data, load_model(data, "x")) == data


def test_a_pruned_tree_lacks_only_its_nodes():
    new = rewritten(GOLF, pruned(load_model(GOLF, "x"), 2))
    start, end = GOLF.index(b'\n        <Node id="4"'), GOLF.index(b"\n      </Node>\n    </Node>")
    assert new == GOLF[:start] + GOLF[end:]


def test_withheld_numbers_are_taken_off_where_they_stand():
    tree = load_model(GOLF, "x")
    nodes = [replace(node, records=None, class_counts=None) for node in tree.nodes]
    changed = replace(tree, nodes=tuple(nodes), quality=Quality.ABSENT)
    new = rewritten(GOLF, changed)
    assert load_model(new, "x") == changed
    assert b"recordCount" not in new
    assert b"ScoreDistribution" not in new


def test_a_withheld_count_that_others_tell_is_written_as_withheld_in_our_own_words():
    tree = load_model(GOLF, "x")
    nodes = [
        replace(node, records=None, class_counts=None) if node.name == "4" else node
        for node in tree.nodes
    ]
    changed = replace(tree, nodes=tuple(nodes))
    assert load_model(rewritten(GOLF, changed), "x") == changed


def test_where_all_numbers_are_written_anew_those_of_other_nodes_are_too():
    data = GOLF.replace(b"<ScoreDistribution ", b'<ScoreDistribution confidence="0.5" ')
    tree = load_model(data, "x")
    nodes = [replace(node, records=None) if node.name == "4" else node for node in tree.nodes]
    changed = replace(tree, nodes=tuple(nodes))
    document = XmlDocument(data, "x", whole=True)
    for with_quality in (False, True):
        new = written_anew(document, tree, changed, with_quality)
        assert (b"confidence" in new) is not with_quality


def test_as_many_class_numbers_are_read_as_the_limit_says(monkeypatch):
    data = GOLF.replace(b"<ScoreDistribution ", b'<ScoreDistribution confidence="0.5" ')
    tree = load_model(data, "x")
    numbers = sum(node.class_counts is not None for node in tree.nodes) * len(tree.classes)
    monkeypatch.setattr(limits, "CLASS_NUMBERS", numbers)
    assert load_model(data, "x") == tree
    monkeypatch.setattr(limits, "CLASS_NUMBERS", numbers - 1)
    with pytest.raises(TreeFormatError, match="are too many"):
        load_model(data, "x")


@pytest.mark.parametrize(
    "change",
    [
        {"score": "no"},
        {"class_counts": None},
        {"test": NumericTest("temperature", 1.0, 2.0)},
        {"test": CategoryTest("outlook", ("sunny", "rain"))},
        {
            "test": OneOf(
                (CategoryTest("outlook", ("sunny",)), NumericTest("temperature", high=2.0))
            )
        },
        {
            "test": Surrogate(
                (CategoryTest("outlook", ("sunny",)), NumericTest("temperature", high=2.0))
            )
        },
        {
            "test": AllOf(
                (CategoryTest("outlook", ("sunny",)), NumericTest("temperature", high=2.0))
            )
        },
    ],
)
def test_a_changed_node_reads_back_so(change):
    tree = load_model(GOLF, "x")
    nodes = tuple(replace(node, **change) if node.index == 1 else node for node in tree.nodes)
    changed = replace(tree, nodes=nodes)
    assert load_model(rewritten(GOLF, changed), "x") == changed


def test_nodes_without_an_id_get_the_name_they_had():
    data = GOLF
    for name in range(1, 6):
        data = data.replace(f'<Node id="{name}" '.encode(), b"<Node ")
    tree = load_model(data, "x")
    bare = [replace(node, records=None, class_counts=None) for node in tree.nodes]
    without_first = [replace(bare[0], children=(2,)), *bare[1:]]
    changed = replace(rebuilt(tree, without_first), quality=Quality.ABSENT)
    new = rewritten(data, changed)
    assert load_model(new, "x") == changed
    assert b'id="n2"' in new


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_the_encoding_stays(encoding):
    text = GOLF.decode().replace("UTF-8", encoding, 1).replace("sunny", "schön")
    tree = load_model(text.encode(encoding), "x")
    test = CategoryTest("outlook", ("schön", "rain"))
    nodes = tuple(replace(node, test=test) if node.index == 1 else node for node in tree.nodes)
    changed = replace(tree, nodes=nodes)
    new = rewritten(text.encode(encoding), changed)
    assert load_model(new, "x") == changed
    assert "schön" in new.decode(encoding)


def test_a_prefix_is_kept():
    text = GOLF.decode().replace("<", "<q:").replace("<q:/", "</q:").replace("<q:?", "<?")
    data = text.replace("xmlns=", "xmlns:q=").encode()
    tree = load_model(data, "x")
    nodes = tuple(
        replace(node, test=NumericTest("temperature", low=9.0)) if node.index == 1 else node
        for node in tree.nodes
    )
    changed = replace(tree, nodes=nodes)
    assert load_model(rewritten(data, changed), "x") == changed


def test_one_tree_of_an_ensemble_is_changed_and_the_other_stays():
    data = (GOOD / "ensemble.pmml").read_bytes()
    model = load_model(data, "x")
    members = (replace(model.members[0], model=pruned(model.members[0].model, 2)), model.members[1])
    new = rewritten(data, replace(model, members=members))
    assert [len(tree.nodes) for tree in trees_of(load_model(new, "x"))] == [3, 5]
    assert new.endswith(data[data.index(b'<Segment id="2">') :])


@settings(max_examples=examples(60))
@given(tree=trees(), at=st.integers(0, 8))
def test_any_tree_can_be_pruned_in_its_file(tree, at):
    data = PMML.write(tree)
    changed = pruned(load_model(data, "x"), at % len(tree.nodes))
    assert load_model(rewritten(data, changed), "x") == changed


def test_a_node_that_the_file_does_not_have_is_refused():
    tree = load_model(GOLF, "x")
    changed = replace(tree, nodes=(replace(tree.root, name="other"), *tree.nodes[1:]))
    with pytest.raises(OutputError, match="a node that the file does not have"):
        rewritten(GOLF, changed)


def test_what_the_file_cannot_say_is_refused():
    with pytest.raises(OutputError, match="cannot be changed in place"):
        rewritten(GOLF, replace(load_model(GOLF, "x"), target="other"))


def test_a_model_of_other_trees_is_refused():
    with pytest.raises(OutputError, match="has 1 trees, but the changed model has 2"):
        rewritten(GOLF, load_model((GOOD / "ensemble.pmml").read_bytes(), "x"))
