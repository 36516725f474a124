"""Words for 1 and 0 in a column that a model compares as numbers, and whether they can stand for nothing else.

"yes" may be 1 beside a "no" of 0, 1 beside 2, or 2 beside 1. It is 1 where each test of the model parts 0 from 1: no
test parts 1 from 2 then. That "no" comes first, by its meaning and by the alphabet, is what the accepted words share;
of "ja" and "nein" the alphabet says the contrary, and learners number by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ppdm_models.records.arrow_plain import text_array
from ppdm_models.tree.ensemble import Model, trees_of
from ppdm_models.tree.predicate import NumericTest, atoms

YES = ("yes", "y", "oui", "o", "si", "sí", "sì", "sim", "wahr", "vrai", "t", "true")
NO = ("no", "n", "non", "não", "falsch", "faux", "f", "false")
UNORDERED_YES, UNORDERED_NO = ("ja", "j"), ("nein",)
"""Words that the alphabet puts the other way round."""
SAY_YES = "write the numbers that the model was trained on, or say #yes=1 or #yes=0 behind the file's name"


def numbered_words(texts: pa.Array) -> pa.Array | None:
    """Return 1 for words for yes and 0 for words for no; None where there are none, or anything else beside them."""
    lowered = pc.utf8_lower(texts)
    yes = _is_in(lowered, (*YES, *UNORDERED_YES))
    is_word = pc.or_(yes, _is_in(lowered, (*NO, *UNORDERED_NO)))
    if not pc.all(is_word.filter(pc.is_valid(texts))).as_py() or texts.null_count == len(texts):
        return None
    return pc.if_else(pc.is_valid(texts), pc.cast(yes, pa.float64()), None)


def are_ordered(texts: pa.Array) -> bool:
    """Return whether words are told apart from each other by the alphabet as by their meaning: no before yes."""
    lowered = pc.unique(pc.utf8_lower(texts.drop_null()))
    return bool(pc.all(_is_in(lowered, (*YES, *NO))).as_py())


def parts_zero_from_one(model: Model, feature: str) -> bool:
    """Return whether each test of a model on a feature answers otherwise of 0 than of 1."""
    return all(map(_parts, _tests_on(model, feature)))


def compared_with(model: Model, feature: str) -> set[float]:
    """Return the finite numbers that a model's tests compare a feature with."""
    ends = (end for test in _tests_on(model, feature) for end in (test.low, test.high))
    return {end for end in ends if math.isfinite(end)}


def _tests_on(model: Model, feature: str) -> Iterator[NumericTest]:
    for tree in trees_of(model):
        for node in tree.nodes:
            for part in atoms(node.test):
                if isinstance(part, NumericTest) and part.feature == feature:
                    yield part


def _parts(test: NumericTest) -> bool:
    parts_below = test.low == -math.inf or _is_between(test.low, is_above=test.low_closed)
    parts_above = test.high == math.inf or _is_between(test.high, is_above=not test.high_closed)
    return parts_below and parts_above


def _is_between(end: float, *, is_above: bool) -> bool:
    """Return whether an end parts 0 from 1: it belongs to what is above it, or to what is below."""
    return 0 < end <= 1 if is_above else 0 <= end < 1


def _is_in(texts: pa.Array, words: Iterable[str]) -> pa.Array:
    return pc.is_in(texts, text_array(words, texts.type))
