"""Rules decide on the bad end, and a verdict of nothing is no pass."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.audit.reading import Interval, Undetermined
from treewarden.policies.rules import rules
from treewarden.policies.verdict import PolicyVerdict, worst

RULES = rules()
PASS, UNDETERMINED, FAIL = PolicyVerdict.PASS, PolicyVerdict.UNDETERMINED, PolicyVerdict.FAIL


@pytest.mark.parametrize(
    ("rule", "verdicts"),
    [
        ("at_least", [FAIL, UNDETERMINED, PASS, PASS, PASS]),
        ("above", [FAIL, FAIL, FAIL, UNDETERMINED, PASS]),
        ("at_most", [PASS, PASS, PASS, UNDETERMINED, FAIL]),
        ("below", [PASS, UNDETERMINED, FAIL, FAIL, FAIL]),
    ],
)
def test_a_rule_holds_the_bad_end_against_the_limit(rule, verdicts):
    readings = [Interval(3, 4), Interval(3, 5), Interval(5, 5), Interval(5, 6), Interval(6, 7)]
    assert [RULES[rule].judge(reading, 5.0) for reading in readings] == verdicts


@pytest.mark.parametrize("rule", RULES)
def test_what_could_not_be_told_is_undetermined(rule):
    assert RULES[rule].judge(Undetermined("no table"), 5.0) is UNDETERMINED


@pytest.mark.parametrize("rule", RULES)
def test_a_reading_that_could_be_anything_is_undetermined(rule):
    assert RULES[rule].judge(Interval(-math.inf, math.inf), 5.0) is UNDETERMINED


@pytest.mark.parametrize("rule", RULES)
@given(low=st.floats(0, 9), width=st.floats(0, 9), limit=st.floats(0, 9), inside=st.floats(0, 1))
def test_a_verdict_on_an_interval_is_that_on_every_value_inside(rule, low, width, limit, inside):
    verdict = RULES[rule].judge(Interval(low, low + width), limit)
    value = min(low + inside * width, low + width)
    assert verdict in (UNDETERMINED, RULES[rule].judge(Interval(value, value), limit))


@pytest.mark.parametrize("rule", RULES)
def test_a_strict_rule_breaks_at_the_limit_and_no_other(rule):
    at_the_limit = RULES[rule].judge(Interval(5, 5), 5.0)
    assert at_the_limit is (FAIL if RULES[rule].is_strict else PASS)


@pytest.mark.parametrize(
    ("rule", "limit", "margins"),
    [
        ("at_least", 5.0, [0.0, 0.8, 1.0, 2.0]),
        ("above", 5.0, [0.0, 0.8, 1.0, 2.0]),
        ("at_most", 6.0, [math.inf, 6 / 5, 1.0, 0.5]),
        ("below", 6.0, [math.inf, 6 / 5, 1.0, 0.5]),
    ],
)
def test_a_margin_is_how_far_the_bad_end_is_from_the_limit(rule, limit, margins):
    readings = [Interval(-1, 0), Interval(4, 5), Interval(5, 6), Interval(10, 12)]
    assert [RULES[rule].margin(each, limit) for each in readings] == pytest.approx(margins)


@pytest.mark.parametrize("rule", RULES)
def test_where_nothing_is_wanted_a_limit_is_met_or_not_at_all(rule):
    met, bad, at_the_limit = (
        (Interval(1, 2), Interval(-2, -1), Interval(0, 0))
        if RULES[rule].risk == "low"
        else (Interval(-2, -1), Interval(1, 2), Interval(0, 0))
    )
    assert RULES[rule].margin(met, 0.0) == math.inf
    assert RULES[rule].margin(bad, 0.0) == 0.0
    assert RULES[rule].margin(at_the_limit, 0.0) == (0.0 if RULES[rule].is_strict else math.inf)


@pytest.mark.parametrize("rule", RULES)
def test_what_could_not_be_told_has_no_margin(rule):
    assert RULES[rule].margin(Undetermined("no table"), 5.0) is None


def test_nothing_judged_is_not_a_pass():
    assert worst([]) is UNDETERMINED


def test_the_worst_verdict_counts():
    assert worst([PASS, UNDETERMINED]) is UNDETERMINED
    assert worst([PASS, FAIL, UNDETERMINED]) is FAIL
    assert worst([PASS]) is PASS


def test_verdicts_are_typed_in_small_letters():
    assert [verdict.word for verdict in PolicyVerdict] == ["pass", "undetermined", "fail"]
