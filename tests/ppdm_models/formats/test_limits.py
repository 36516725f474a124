"""Limits on the size of a file, and how they are set."""

import os
import runpy
import subprocess
import sys

import pytest

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError, TreewardenError
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.formats.common.xml import parse
from treewarden.ppdm_models.tree.ensemble import trees_of

READ = """
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import load_model

try:
    load_model(b"<PMML/>", "x")
except TreewardenError as error:
    print(error)
"""


def reading(**settings):
    run = subprocess.run(
        [sys.executable, "-c", READ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, **settings},
    )
    return run.stdout


def test_a_limit_is_set_in_the_environment():
    assert reading(TREEWARDEN_LIMIT_BYTES="3") == (
        "x: 7 bytes is more than the 3 that are read; give the tree alone\n"
    )


WRONG = "TREEWARDEN_LIMIT_NODES: is {!r}; set a whole number of at most 15 digits, more than 0, or unset it"


def test_no_file_is_read_under_a_limit_that_is_no_number():
    assert reading(TREEWARDEN_LIMIT_NODES="many") == f"{WRONG.format('many')}\n"


def test_a_limit_that_is_no_number_is_an_error_that_names_it(monkeypatch):
    for said in ("many", "-1", "0", "1.5", "", "9" * 16):
        monkeypatch.setenv("TREEWARDEN_LIMIT_NODES", said)
        with pytest.raises(TreewardenError) as refused:
            runpy.run_path(limits.__file__)["check_settings"]()
        assert str(refused.value) == WRONG.format(said)


def whole(data):
    return parse(data, "x", lambda element, around: None)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<a>" + b"<b/>" * 20 + b"</a>", "more than 10 XML elements and attributes"),
        (b"<a " + b" ".join(b'x%d=""' % n for n in range(20)) + b"/>", "more than 10 XML elements"),
    ],
)
def test_no_more_elements_and_attributes_are_held_than_the_limit(data, said, monkeypatch):
    monkeypatch.setattr(limits, "XML_ELEMENTS", 10)
    with pytest.raises(TreeFormatError, match=said):
        whole(data)


def test_models_that_were_read_are_no_longer_held(monkeypatch):
    monkeypatch.setattr(limits, "XML_ELEMENTS", 30)

    def finished(element, around):
        element.children = []

    data = b"<a>" + (b"<TreeModel>" + b"<b/>" * 20 + b"</TreeModel>") * 3 + b"</a>"
    assert len(parse(data, "x", finished).children) == 3


@pytest.mark.parametrize("data", [b"<a>" + b"x" * 3000 + b"</a>", b"<a>" + b">" * 3000 + b"</a>"])
def test_a_piece_of_xml_that_is_too_long_is_refused(data, monkeypatch):
    monkeypatch.setattr(limits, "XML_TOKEN", 1000)
    with pytest.raises(TreeFormatError, match="1,000"):
        whole(data)


def a_full_tree(leaves):
    """Return LightGBM's text of one tree whose levels are full, on one feature."""
    inner = leaves - 1
    child = [number if number < inner else inner - number - 1 for number in range(1, 2 * inner + 1)]
    numbers = {
        "split_feature": [0] * inner,
        "threshold": [number + 0.5 for number in in_order(inner)],
        "decision_type": [2] * inner,
        "left_child": child[::2],
        "right_child": child[1::2],
        "leaf_value": [0.5] * leaves,
    }
    rows = [f"{name}={' '.join(map(str, values))}" for name, values in numbers.items()]
    head = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=regression\n"
    head += (
        f"feature_names=x\nfeature_infos=[0:{leaves}]\n\nTree=0\nnum_leaves={leaves}\nnum_cat=0\n"
    )
    return (head + "\n".join(rows) + "\nis_linear=0\nshrinkage=1\n\n\nend of trees\n").encode()


def in_order(size):
    """Return the place of each node of a full tree, level by level, in the order of its thresholds."""
    place, stack, at = [0] * size, [], 0
    for number in range(size):
        while at < size:
            stack.append(at)
            at = 2 * at + 1
        at = stack.pop()
        place[at] = number
        at = 2 * at + 2
    return place


def test_a_tree_of_more_than_a_hundred_thousand_nodes_is_read():
    model = load_model(a_full_tree(2**16), "large.txt")
    assert len(next(trees_of(model)).nodes) == 2**17 - 1
