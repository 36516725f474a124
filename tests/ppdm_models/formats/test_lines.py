"""Where a leaf stands in its file: the line that a message, or an annotation in a pipeline, points to."""

from __future__ import annotations

import json

import pytest

from tests.kit.places import DATA
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.formats.common.json import lines_of_entries
from treewarden.ppdm_models.tree.tree import Tree

SHOWN = {
    "pmml": ("", "<Node"),
    "treewarden_json": ("", '{"id": '),
    "sklearn_text": ("", "|---"),
    "weka_text": ("j48.txt", ": "),
    "rpart_text": ("", "*"),
    "rpart_summary": ("", "Node number"),
    "partykit_text": ("partykit", "(n = "),
    "graphviz_dot": ("", "[label="),
    "lightgbm_text": ("", "Tree="),
}
"""By format: the files that are read, by the start of their name, and what stands on the line of each leaf."""


def read(path):
    model = load_model(path.read_bytes(), path.name)
    return (model,) if isinstance(model, Tree) else tuple(model.trees)


@pytest.mark.parametrize("name", SHOWN)
def test_each_leaf_has_the_line_that_it_stands_on(name):
    start, words = SHOWN[name]
    files = [
        path
        for path in sorted((DATA / "formats" / name / "good").iterdir())
        if path.is_file() and path.name.startswith(start)
    ]
    assert files
    for path in files[:3]:
        lines = path.read_text(encoding="utf-8").split("\n")
        leaves = [node for tree in read(path) for node in tree.nodes if node.is_leaf]
        assert [lines[leaf.line - 1] for leaf in leaves if words not in lines[leaf.line - 1]] == []


def test_a_leaf_of_a_tree_printed_as_text_has_a_line_of_its_own():
    (tree,) = read(DATA / "formats" / "sklearn_text" / "good" / "iris.txt")
    lines = [node.line for node in tree.nodes if node.is_leaf]
    assert len(set(lines)) == len(lines)


def test_a_scikit_learn_tree_that_is_written_over_several_lines_tells_those_of_its_rows():
    path = DATA / "formats" / "sklearn_json" / "good" / "iris.json"
    data = json.dumps(json.loads(path.read_bytes()), indent=1)
    tree = load_model(data.encode(), path.name)
    lines = [node.line for node in tree.nodes]
    assert lines == sorted(set(lines))
    assert all(data.split("\n")[line - 1].strip() == "[" for line in lines)
    assert tree == load_model(path.read_bytes(), path.name)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"a": 1,\n"nodes": [\n{"x": [{}]},\n\n{"x": "]\\n}"}, [1,\n2]]}', (3, 5, 5)),
        ('{"t": "\\"nodes\\": [{", \n"nodes" :\n[\n{"}": "[\\\\"}\n,{}\n]\n, "m": [{}]}', (4, 5)),
        ('{"nodes": [{}, {}]}', ()),
        ('{"nodes": [{}, {}]}\n', ()),
        ('{"nodes": 7,\n "more": []}', ()),
        ('{"nodes": [],\n "more": [{}]}', ()),
        ('{"nodes": [1,\n 2]}', ()),
    ],
)
def test_entries_of_a_list_are_found_whatever_texts_hold(text, lines):
    assert lines_of_entries(text.encode(), "nodes") == lines
