"""Leaves that give their counts as bands: written, read back, refused where they mean nothing."""

from dataclasses import replace

import pytest

from tests.kit.small_audits import flat_tree
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import load_tree, writers
from treewarden.ppdm_models.tree.tree import Quality

TREE = flat_tree([[7, 2], [3, 3]], classes=("a b", "c"))


def banded(*bands):
    nodes = [replace(node, class_counts=None) for node in TREE.nodes]
    nodes[1] = replace(nodes[1], bands=bands)
    return replace(TREE, nodes=tuple(nodes))


@pytest.mark.parametrize("name", ["pmml", "treewarden_json"])
@pytest.mark.parametrize(
    "bands", [((5.0, 9.0), (0.0, 4.0)), ((5.0, 9.0), None), ((5.5, 1e6), (0.1, 2.0))]
)
def test_bands_read_back_as_they_were_written(name, bands):
    tree = banded(*bands)
    assert load_tree(writers()[name].write(tree), "tree") == tree


@pytest.mark.parametrize("name", ["pmml", "treewarden_json"])
@pytest.mark.parametrize("bands", [((0.0, 4.0), (0.0, 4.0)), ((8.0, 9.0), (5.0, 6.0))])
def test_bands_that_the_record_count_contradicts_make_the_file_inconsistent(name, bands):
    tree = load_tree(writers()[name].write(banded(*bands)), "tree")
    assert tree.quality is Quality.INCONSISTENT
    assert "holds 9 records, but its bands allow" in tree.notes[0]


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("treewarden_json", b"[5.0, 9.0]", b"[9.0, 5.0]", "the band of 'a b' is empty: 9.0 to 5.0"),
        ("treewarden_json", b"[5.0, 9.0]", b"[-1.0, 5.0]", "greater than or equal to 0"),
        ("treewarden_json", b"[5.0, 9.0]", b"[5.0]", "bands.a b"),
        (
            "treewarden_json",
            b'"bands"',
            b'"class_counts": {"c": 1}, "bands"',
            "may not also have exact counts",
        ),
        ("treewarden_json", b'"a b": [5.0', b'"z": [5.0', "'z' is not a class"),
        (
            "treewarden_json",
            b'"records": 15.0',
            b'"records": 15.0, "bands": {}',
            "only a leaf may have them",
        ),
        ("pmml", b"5 9 a b", b"9 5 a b", "write low high class"),
        ("pmml", b"5 9 a b", b"NaN 9 a b", "write low high class"),
        ("pmml", b"5 9 a b", b"5", "write low high class"),
        ("pmml", b"5 9 a b", b"5 9 z", "a band names 'z', which is not a class"),
        ("pmml", b"5 9 a b", b"5 9 c", "two bands belong to 'c'"),
    ],
)
def test_bands_that_mean_nothing_are_refused(name, old, new, said):
    data = writers()[name].write(banded((5.0, 9.0), (0.0, 4.0)))
    assert old in data
    with pytest.raises(TreeFormatError, match=said):
        load_tree(data.replace(old, new, 1), "tree")


def test_bands_beside_a_distribution_are_refused_in_pmml():
    data = writers()["pmml"].write(banded((5.0, 9.0), (0.0, 4.0)))
    line = next(line for line in data.splitlines() if b"5 9 a b" in line)
    twice = line + b'<ScoreDistribution value="c" recordCount="2"/>'
    with pytest.raises(TreeFormatError, match="only a leaf may have them"):
        load_tree(data.replace(line, twice), "tree")
