"""The tree as a list that folds has every leaf that is drawn, once, and closes every level that it opens."""

from treewarden.reports.figures.drawing import outline


def test_each_node_of_a_small_tree_stands_there_once(document):
    steps = [step for step in outline(document.tree) if step.node]
    assert [step.node.index for step in steps] == sorted(node.index for node in document.tree)


def test_every_level_that_opens_closes(document):
    kinds = [step.kind for step in outline(document.tree)]
    assert kinds.count("open") == kinds.count("close") >= 1
    assert kinds[-1] == "close"


def test_a_chain_as_deep_as_it_has_leaves_is_no_trouble(document):
    root, leaf = document.tree[0], document.tree[-1]
    deep = [root]
    for index in range(1, 4000):
        parent = index - 1 if index % 2 else index - 2
        deep.append(
            leaf.model_copy(update={"index": index, "parent": parent, "rank": 4000 - index})
        )
    assert sum(step.kind == "open" for step in outline(deep)) > 1900
