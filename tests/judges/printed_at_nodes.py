"""What real files of each format print at their nodes, as the trees that are read of them carry it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache

from tests.kit import places
from tests.kit.small_audits import flat_tree
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import formats, load_model, load_tree, writers
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.nodes import Impurity
from treewarden.ppdm_models.tree.tree import Criterion, Quality, Task

SAMPLES = places.DATA / "formats"
CORPUS = places.SHARED / "models"
LARGEST_BYTES = 300_000
MIXED = Impurity(Criterion.GINI, 0.2, 0.4)
FIELDS = {
    "records": "records",
    "class_counts": "class counts",
    "class_shares": "class shares",
    "outputs": "outputs",
    "bands": "bands",
    "impurity": "impurity",
}


@cache
def sample_trees():
    """Return the trees of the samples in this repository, by format."""
    found = defaultdict(list)
    for path in sorted(SAMPLES.glob("*/good/*")):
        if path.is_file():
            found[path.parent.parent.name] += trees_of(load_model(path.read_bytes(), path.name))
    return found


@cache
def corpus_trees():
    """Return the trees of the published models, by format; none where they are not here."""
    found = defaultdict(list)
    for path in sorted(CORPUS.glob("*/*")):
        if not path.is_file() or path.stat().st_size > LARGEST_BYTES:
            continue
        data = path.read_bytes()
        for name, plugin in formats().items():
            if plugin.sniff(data):
                try:
                    found[name] += trees_of(plugin.open(data, path.name).model)
                except TreewardenError:
                    continue  # the corpus has files that are refused
    return found


def made_trees(name):
    """Return small trees in a format that is written here, of which there are no files with all that it can say."""
    if name not in writers():
        return []
    told = flat_tree([[7, 3], [1, 4]])
    bare = replace(told, nodes=tuple(replace(node, class_counts=None) for node in told.nodes))
    root, *leaves = bare.nodes
    banded = (replace(leaf, bands=((1.0, 9.0), None)) for leaf in leaves)
    three = flat_tree([[7, 3, 1], [6, 4, 2]])
    rated = tuple(replace(n, class_counts=(n.class_counts[0], None, None)) for n in three.nodes)
    some = [
        replace(bare, nodes=(root, *banded)),
        replace(three, nodes=rated),
        replace(bare, nodes=tuple(replace(n, impurity=MIXED) for n in bare.nodes)),
        replace(
            bare,
            quality=Quality.NORMALISED,
            nodes=tuple(replace(n, class_shares=(0.5, 0.5), records=None) for n in bare.nodes),
        ),
        replace(
            bare,
            classes=(),
            task=Task.REGRESSION,
            nodes=tuple(replace(n, score=1.0) for n in bare.nodes),
        ),
    ]
    return [load_tree(writers()[name].write(tree), "made") for tree in some]


def printed(trees):
    """Return what the trees print at inner nodes, at leaves, and without use, as words."""
    places = (set(), set())
    for tree in trees:
        for node in tree.nodes:
            said = places[node.is_leaf]
            if node.score is not None:
                said.add("label" if tree.classes else "value")
            said |= {word for field, word in FIELDS.items() if getattr(node, field) is not None}
    return (*places, {kind for tree in trees for kind in tree.unused})
