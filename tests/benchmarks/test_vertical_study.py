"""The study of trees over columns that are not pooled, in its quick form: what has to come out whatever the machine."""

from pathlib import Path

import pytest

from benchmarks.studies import vertical_2008 as study

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="needs the public data sets")


def test_trees_are_those_of_plain_id3_and_the_page_has_every_run():
    sets = [study.cut(each(DATA), 700) for each in (study.nursery, study.msweb)]
    runs = [
        study.run(data, parties, mode)
        for data in sets
        for mode in study.Mode
        for parties in (2, 10)
    ]
    assert all(each.is_same and each.rules == 1 for each in runs)
    blocks = {each.mode: [] for each in runs}
    for each in runs:
        blocks[each.mode].append(each.blocks)
    assert not any(blocks[study.Mode.SHARED])
    assert all(0 < each < 1 for each in blocks[study.Mode.IDS])
    text = study.document(runs)
    assert text.count("| yes |") == len(runs)
    assert "not repeatable" in text
