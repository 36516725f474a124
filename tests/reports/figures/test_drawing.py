"""The picture of a tree: everything has its place, and a large tree shrinks to what matters."""

import pytest

from treewarden.reports.document.parts import TreeNode
from treewarden.reports.figures.drawing import MOST_LEAVES, ROOM, ROW, TOO_DEEP, draw, select


def node(index, parent, test="", risk="none", rank=None):
    return TreeNode(
        index=index,
        name=str(index),
        parent=parent,
        test=test,
        path=test,
        line=None,
        label="yes",
        records=1,
        records_text="1",
        label_share_text="100 %",
        risk=risk,
        rank=rank,
    )


def comb(leaves, risky=()):
    """Return a root with groups of ten leaves."""
    nodes, ranks = [node(0, None)], {leaf: rank for rank, leaf in enumerate(risky)}
    for leaf in range(leaves):
        if leaf % 10 == 0:
            group = len(nodes)
            nodes.append(node(group, 0, f"group {leaf // 10}"))
        risk = "fail" if leaf in ranks else "none"
        nodes.append(node(len(nodes), group, f"leaf {leaf}", risk, ranks.get(leaf)))
    return nodes


@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("leaves", [1, 30, 60])
def test_every_leaf_has_a_line_of_its_own_inside_the_picture(style, leaves):
    drawing = draw(comb(leaves), style)
    heights = sorted(mark.y for mark in drawing.marks)
    assert len(heights) == leaves
    assert all(low + ROW <= high for low, high in zip(heights, heights[1:], strict=False))
    assert all(0 <= words.x <= drawing.width for words in drawing.words)
    assert all(0 <= mark.y <= drawing.height for mark in drawing.marks)


def test_a_tree_of_one_node_is_drawn():
    assert len(draw([node(0, None)]).marks) == 1


def test_a_leaf_at_risk_marks_its_line_and_the_way_to_it():
    drawing = draw(comb(30, risky=[5]))
    assert [mark.risk for mark in drawing.marks].count("fail") == 1
    assert len(drawing.bands) == 1
    assert sum(line.kind == "risky" for line in drawing.lines) == 4


def test_long_words_are_cut_but_kept_whole_behind():
    long = "a very long name of an attribute that goes on ≤ 4.25"
    words = draw([node(0, None), node(1, 0, long), node(2, 0, "b")]).words
    test = next(w for w in words if w.full == long)
    assert "…" in test.text
    assert test.text.endswith("≤ 4.25")
    assert len(test.text) <= 26


def test_a_deep_tree_with_long_words_fits_the_page():
    nodes = [node(0, None)]
    for depth in range(6):
        nodes += [node(2 * depth + 1, max(0, 2 * depth - 1), "a rather long attribute ≤ 1.25")]
        nodes += [node(2 * depth + 2, max(0, 2 * depth - 1), "a rather long attribute > 1.25")]
    assert draw(nodes).width <= ROOM


def test_wide_and_control_characters_do_not_break_the_picture():
    words = [
        w.text for w in draw([node(0, None), node(1, 0, "中" * 60), node(2, 0, "\n\x1b")]).words
    ]
    assert r"\n\x1b" in words
    assert max(map(len, words)) <= 26


def test_a_large_tree_shows_only_the_paths_to_risk():
    kept = select(comb(1000, risky=[3, 777]))
    assert set(kept.stubs.values()) == {"(10 leaves)"}
    assert len(kept.stubs) == 98
    assert "1,000 leaves" in kept.note
    assert "the 2 marked leaves" in kept.note


def test_a_large_tree_at_risk_all_over_shows_the_riskiest():
    kept = select(comb(3000, risky=range(3000)))
    assert f"the {MOST_LEAVES} riskiest of the 3,000" in kept.note
    assert len(kept.stubs) == 300 - MOST_LEAVES // 10


def test_a_large_tree_without_risk_shows_its_top():
    kept = select(comb(1000))
    assert len(kept.ends) == 100
    assert "only the top is shown" in kept.note


def deep(levels):
    """Return a chain of splits with long names, one leaf at each."""
    nodes = [node(0, None)]
    for level in range(levels):
        above = nodes[-1].index
        nodes.append(node(2 * level + 1, above, f"a column with a long name <= {level}"))
        nodes.append(node(2 * level + 2, above, f"a column with a long name > {level}"))
    return nodes


def test_a_tree_too_deep_for_its_tests_still_shows_every_leaf_s_columns():
    shallow, drawing = draw(deep(3)), draw(deep(20))
    headings = [words.text for words in drawing.words if words.kind == "heading"]
    assert (shallow.note, drawing.note) == ("", TOO_DEEP)
    assert drawing.width <= ROOM
    assert headings == ["Leaf", "Last test", "Label", "Records", "Label true of", "Breaks"]
    assert not [words for words in drawing.words if words.kind == "test"]
