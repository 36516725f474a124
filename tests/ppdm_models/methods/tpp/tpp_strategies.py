"""Small tables full of ties, as columns and responses."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from treewarden.ppdm_models.learn.splits import of_classes, of_numbers
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

LETTERS = ("*", "a", "b", "c", "d")


def numbers(values):
    return NumericColumn(np.array(values, dtype=np.float64))


def categories(texts):
    known = tuple(sorted(set(texts)))
    return CategoricalColumn(
        codes=np.array([known.index(text) for text in texts]), categories=known
    )


def classes(texts, name="y"):
    column = categories(texts)
    return of_classes(name, column.codes, column.categories)


@st.composite
def tables(draw, regression=None):
    """Draw columns (numbers with few values, some awkward; categories), and a response."""
    size = draw(st.integers(4, 40))
    columns = {}
    for index in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            domain = draw(st.sampled_from([range(4), range(30), [0.1, 0.3, 0.7, 1e9, -2.5]]))
            values = draw(st.lists(st.sampled_from(list(domain)), min_size=size, max_size=size))
            columns[f"n{index}"] = numbers(values)
        else:
            width = draw(st.integers(1, 5))
            texts = draw(st.lists(st.sampled_from(LETTERS[:width]), min_size=size, max_size=size))
            columns[f"c{index}"] = categories(texts)
    if draw(st.booleans()) if regression is None else regression:
        values = draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size))
        return columns, of_numbers("y", np.array(values) / 10)
    texts = draw(st.lists(st.sampled_from("xyz"), min_size=size, max_size=size))
    return columns, classes(texts)
