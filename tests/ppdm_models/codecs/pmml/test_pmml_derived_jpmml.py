"""Derived fields that are read send each record where JPMML-Evaluator sends it, or are said to stay their own."""

import shutil
from collections import Counter

import pytest

from tests.judges.pmml_derived import compare, draw, ends_as_read

SEEDS = range(4)
MODELS = 100


def test_the_same_seed_draws_the_same_case():
    assert draw(5) == draw(5)


def test_most_drawn_models_are_read():
    read = [not isinstance(ends_as_read(draw(seed)), str) for seed in range(60)]
    assert sum(read) > 40


@pytest.mark.parametrize("seed", SEEDS)
def test_records_end_where_jpmml_sends_them(seed):
    pytest.importorskip("jpmml_evaluator")
    pytest.importorskip("jpype")
    if shutil.which("java") is None:
        pytest.skip("JPMML-Evaluator needs Java")
    counts, misses = Counter(), []
    for case in range(MODELS):
        counted, missed = compare(1000 * seed + case)
        counts += counted
        misses += missed
    assert misses == []
    assert counts["records x fields"] > 5_000
