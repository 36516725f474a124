"""Whether an XGBoost file is written as programs write it: other blanks, digits or orders of keys would hold a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.formats.common.json_layout import odd_layout
from treewarden.ppdm_models.formats.xgboost._shapes import FRACTIONS, SINGLE_DIGITS
from treewarden.ppdm_models.formats.xgboost._ubjson import opens_ubjson, written_ubjson

ORDER = "keys that are in no order"
DIGITS = "digits that no number of 32 bits has"
BYTES = "bytes that the library would write otherwise"


def odd_writing(data: bytes, document: object, trees: Sequence[Mapping[str, Any]]) -> str:
    """Return what is odd about the way a checked document is written, in words; "" where nothing is."""
    if not _are_sorted(document):
        return ORDER
    if any(_odd_singles(tree[name]).any() for tree in trees for name in FRACTIONS & tree.keys()):
        return DIGITS
    if opens_ubjson(data):
        return "" if written_ubjson(document) == data else BYTES
    return odd_layout(data)


def written_plainly(document: object, trees: Sequence[dict[str, Any]]) -> object:
    """Return the document with its keys in order and its numbers as ones of 32 bits; the document is used up."""
    for tree in trees:
        for name in FRACTIONS & tree.keys():
            column = tree[name]
            odd = _odd_singles(column)
            for place in np.flatnonzero(odd).tolist():
                with np.errstate(
                    over="ignore"
                ):  # what 32 bits cannot hold stays, and is told again
                    single = float(np.float32(column[place]))
                column[place] = single if np.isfinite(single) else column[place]
    for value in _objects(document):
        held = dict(value)
        value.clear()
        value.update(sorted(held.items()))
    return document


def _are_sorted(document: object) -> bool:
    return all(list(value) == sorted(value) for value in _objects(document))


def _objects(document: object) -> Iterator[dict[str, Any]]:
    pending = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending += value.values()
        elif isinstance(value, list) and value and isinstance(value[0], dict | list):
            pending += value


def _odd_singles(column: object) -> BoolArray:
    """Return which numbers of a list are neither one of 32 bits nor its shortest digits, (n,)."""
    listed = column if isinstance(column, list) else []
    if not all(type(each) in (int, float) for each in listed):
        return np.zeros(0, dtype=np.bool_)  # told as unknown content
    numbers = np.array(listed, dtype=np.float64)
    with np.errstate(over="ignore"):
        singles = numbers.astype(np.float32)
    odd: BoolArray = (singles != numbers) & ~np.isnan(numbers)
    for place in np.flatnonzero(odd).tolist():
        single, number = singles[place], float(numbers[place])
        shortest = float(np.format_float_scientific(single, unique=True))
        odd[place] = number not in (shortest, float(f"{float(single):.{SINGLE_DIGITS - 1}e}"))
    return odd
