"""Probabilities beside counts are those of the counts, in one of the ways that producers write them, or are told."""

import pytest

from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.tree.tree import Quality

LEAVES = ((26, 14), (14, 26), (5, 15), (30, 10))


def tree_of(shares, attribute="probability", totals=None, plain=()):
    """A tree of four leaves; ``shares`` gives each leaf's probabilities as texts, from its place and its counts."""
    nodes = []
    for place, counts in enumerate(LEAVES):
        stated = ("", "")
        if place not in plain:
            stated = tuple(f' {attribute}="{text}"' for text in shares(place, counts))
        items = "".join(
            f'<ScoreDistribution value="{label}" recordCount="{count}"{text}/>'
            for label, count, text in zip("ab", counts, stated, strict=True)
        )
        label = "ab"[counts[1] > counts[0]]
        total = sum(counts) if totals is None else totals[place]
        nodes.append(
            f'<Node id="{place + 1}" score="{label}" recordCount="{total}"><SimplePredicate field="x" '
            f'operator="equal" value="{place}"/>{items}</Node>'
        )
    fields = "".join(
        f'<DataField name="{name}" optype="categorical" dataType="string">'
        + "".join(f'<Value value="{value}"/>' for value in values)
        + "</DataField>"
        for name, values in (("x", "0123"), ("y", "ab"))
    )
    return load_tree(
        (
            f'<PMML version="4.4"><DataDictionary>{fields}</DataDictionary><TreeModel functionName="classification">'
            '<MiningSchema><MiningField name="x"/><MiningField name="y" usageType="target"/></MiningSchema>'
            f'<Node id="0"><True/>{"".join(nodes)}</Node></TreeModel></PMML>'
        ).encode(),
        "t.pmml",
    )


def share(counts):
    return [count / sum(counts) for count in counts]


def laplace(counts):
    return [(count + 1) / (sum(counts) + len(counts)) for count in counts]


def weighed(counts):
    return share((counts[0], 3 * counts[1]))


@pytest.mark.parametrize("attribute", ["probability", "confidence"])
@pytest.mark.parametrize("digits", [2, 3, 6, 15])
@pytest.mark.parametrize("form", [share, laplace, weighed])
def test_forms_that_producers_write_are_no_contradiction(form, digits, attribute):
    tree = tree_of(lambda _, counts: [f"{one:.{digits}f}" for one in form(counts)], attribute)
    assert tree.quality is Quality.EXACT
    assert not tree.notes
    assert bool(tree.label_reason) is (form is weighed)


def test_a_share_of_the_records_of_the_node_is_none():
    tree = tree_of(lambda _, counts: [count / 100 for count in counts], totals=[100] * 4)
    assert not any("probability" in note for note in tree.notes)


@pytest.mark.parametrize("attribute", ["probability", "confidence"])
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("form", [share, laplace, weighed])
@pytest.mark.parametrize("planted", [("0.01", "0.99"), ("0.5", "0.4"), ("0.61", "0.39")])
def test_one_node_that_says_another_thing_contradicts_the_counts(place, form, attribute, planted):
    def stated(here, counts):
        return planted if here == place else [f"{one:.4f}" for one in form(counts)]

    tree = tree_of(stated, attribute)
    assert tree.quality is Quality.INCONSISTENT
    assert any("is not the share of its counts" in note for note in tree.notes)


def test_probabilities_at_one_node_alone_are_held_against_its_counts():
    odd = tree_of(lambda *_: ("0.99", "0.01"), plain=(1, 2, 3))
    assert odd.quality is Quality.INCONSISTENT
    assert tree_of(lambda *_: ("0.65", "0.35"), plain=(1, 2, 3)).quality is Quality.EXACT


def test_equal_counts_are_no_totals_that_are_repeated():
    tree = tree_of(lambda *_: ("0.99", "0.01"), plain=(1, 2, 3))
    assert tree.quality is Quality.INCONSISTENT
    assert not any("repeats the total" in note for note in tree.notes)
