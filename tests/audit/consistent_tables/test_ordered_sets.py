"""Sets of categories that rpart compares with two classes: other tables show something only where they are cuts."""

import json

import numpy as np
import pytest

import treewarden as tw
from treewarden.audit.consistent_tables.witnesses.ordered_sets import OrderedSets

FRAME = {
    "frame": [
        {"var": "a", "n": 7, "wt": 7, "dev": 3, "yval": 2, "complexity": 0, "ncompete": 0}
        | {"nsurrogate": 0, "yval2": [2, 3, 4, 3 / 7, 4 / 7, 1]},
        {"var": "<leaf>", "n": 4, "wt": 4, "dev": 2, "yval": 1, "complexity": -1, "ncompete": 0}
        | {"nsurrogate": 0, "yval2": [1, 2, 2, 0.5, 0.5, 4 / 7]},
        {"var": "<leaf>", "n": 3, "wt": 3, "dev": 1, "yval": 2, "complexity": -1, "ncompete": 0}
        | {"nsurrogate": 0, "yval2": [2, 1, 2, 1 / 3, 2 / 3, 3 / 7]},
    ],
    "csplit": [[3, 3, 1]],
    "method": ["class"],
    "parms": {"prior": [3 / 7, 4 / 7], "loss": [[0, 1], [1, 0]], "split": [1]},
    "control": {"minsplit": [2], "minbucket": [3], "cp": [-1], "maxcompete": [0]}
    | {
        "maxsurrogate": [0],
        "usesurrogate": [2],
        "surrogatestyle": [0],
        "maxdepth": [1],
        "xval": [0],
    },
    "splits": [{"var": "a", "count": 7, "ncat": 3, "improve": 2 / 21, "index": 1, "adj": 0}],
    "xlevels": {"a": ["v2", "v3", "v4"]},
    "ylevels": ["k0", "k1"],
}
"""A tree of rpart: all twelve tables that rpart makes this of have the class k1 for v3."""
PEOPLE = ("v3,k1", "v4,k1", "v2,k0", "v4,k1", "v2,k1", "v4,k0", "v4,k0")
NOBODY = {
    "name": "nobody",
    "version": "1",
    "title": "Nobody",
    "check": [{"id": "c", "measure": "certain_disclosure", "rule": "at_most", "limit": 0.0}],
}


@pytest.mark.parametrize("more", [{}, {"split": "gini"}])
def test_a_table_in_which_rpart_does_not_compare_the_set_shows_nothing(more, tmp_path):
    (tmp_path / "tree.json").write_text(json.dumps(FRAME), encoding="utf-8")
    table = "\n".join(("a,cls", *PEOPLE, ""))
    (tmp_path / "people.csv").write_text(table, encoding="utf-8")
    found = tw.audit(
        tmp_path / "tree.json",
        tmp_path / "people.csv",
        sensitive="cls",
        policy=NOBODY,
        jobs=1,
        **more,
    )
    assert found.verdict is tw.Verdict.UNDETERMINED


def test_a_set_is_a_cut_of_the_order_or_it_is_not():
    has = np.eye(3, dtype=np.int64)
    sets = OrderedSets(slice(0, 3), has, np.array([2, 1, 4]), np.array([False, False, True]))
    first = np.array([[1, 0, 2], [2, 1, 2], [0, 0, 2], [1, 1, 2], [2, 0, 2]])
    tables = np.stack([first, np.array([2, 1, 4]) - first], axis=2)
    # The shares of v4 are 1/2 throughout: a cut parts them from those of v2 and v3, on the same side of both.
    assert sets.allows(tables).tolist() == [False, True, True, False, False]
