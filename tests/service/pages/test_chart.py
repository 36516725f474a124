"""The history of a model as a chart: every bar and point on it, and the same scale for all."""

import pytest

from treewarden.service.pages._rendering import environment
from treewarden.service.pages.models import HIGHEST, LOWEST, POINTS, TOP, charted
from treewarden.service.use_cases.models import Past, VersionVerdict


def past(n, failed=0, undecided=0, verdict="FAIL", leaf=None, policy="standard"):
    return Past(n, VersionVerdict("a" * 32, verdict, policy, failed, undecided, 0, "label"), leaf)


def drawn(history):
    return (
        environment()
        .get_template("_history.html.j2")
        .render(history=history, chart=charted(history))
    )


def test_bars_are_as_high_as_their_findings_are_many():
    chart = charted([past(1, failed=30, undecided=10), past(2, failed=10), past(3, verdict="PASS")])
    assert [[bar.height for bar in each.bars] for each in chart.columns] == [[72, 24], [24], []]
    assert [each.total for each in chart.columns] == [40, 10, 0]
    assert chart.columns[0].bars[-1].y == TOP
    assert all(bar.y + bar.height <= TOP + HIGHEST for each in chart.columns for bar in each.bars)


def test_one_finding_among_thousands_is_still_seen():
    chart = charted([past(1, failed=5000), past(2, failed=1)])
    assert chart.columns[1].bars[0].height >= 2


def test_a_leaf_that_is_not_known_leaves_a_gap_and_no_zero():
    chart = charted([past(1, leaf=1), past(2), past(3, leaf=1000), past(4, leaf=0)])
    assert [each.size for each in chart.columns] == [1, None, 1000, 0]
    assert [(a.n, b.n) for a, b in chart.lines] == [(3, 4)]
    assert chart.columns[2].y == POINTS
    assert chart.columns[3].y == POINTS + LOWEST


@pytest.mark.parametrize("history", [[], [Past(1, None, None)], [Past(1, None, 0), past(2)]])
def test_what_has_no_number_is_drawn_too(history):
    text = drawn(history)
    assert "nan" not in text
    assert text.count("<circle") == sum(each.smallest_leaf is not None for each in history)


def test_the_picture_is_said_in_words_and_in_figures():
    text = drawn([past(1, failed=1), Past(2, None, 12)])
    assert "Version 1: FAIL, 1 finding. Version 2: not audited." in text
    assert "12 records" in text
    assert "not known" in text


def test_different_policies_are_told_of():
    assert "different policies" in drawn([past(1), past(2, policy="strict")])
    assert "different policies" not in drawn([past(1), past(2), Past(3, None, None)])
