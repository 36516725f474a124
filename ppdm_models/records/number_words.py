"""Words for 1 and 0 in a column that a model compares as numbers, and whether they can stand for nothing else.

"yes" may be 1 beside a "no" of 0, 1 beside 2, or 2 beside 1. It is 1 where each test of the model parts 0 from 1: no
test parts 1 from 2 then. That "no" comes first, by its meaning and by the alphabet, is what the accepted words share;
of "ja" and "nein" the alphabet says the contrary, and learners number by it.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from treewarden.ppdm_models.records.arrow_plain import text_array

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


def _is_in(texts: pa.Array, words: Iterable[str]) -> pa.Array:
    return pc.is_in(texts, text_array(words, texts.type))
