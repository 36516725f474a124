"""How an audit is asked for: a value that cannot be is refused, from Python as from the command line."""

import math
from dataclasses import fields

import pytest

from tests.kit.run import run_command
from treewarden.audit.knowledge.knowledge import LeafLevel
from treewarden.audit.options import AuditOptions, RowStatement
from treewarden.commands._options import request_options


@pytest.mark.parametrize(
    "given",
    [
        {"time_limit": 0.0},
        {"time_limit": math.nan},
        {"time_limit": "3"},
        {"worlds_budget": -1.0},
        {"worlds_budget": 1e10},
        {"jobs": 0},
        {"jobs": 1.5},
        {"jobs": True},
        {"leaf": "everything"},
        {"rows": "both"},
        {"worlds": "no"},
        {"worlds": None},
        {"qi": "age"},
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_name(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        AuditOptions(**given)


def test_what_can_be_is_taken():
    taken = AuditOptions("flu", ("age",), leaf="rates", jobs=2, time_limit=3, rows="real")
    assert (taken.sensitive, taken.qi, taken.leaf) == ("flu", ("age",), LeafLevel.RATES)
    assert (taken.jobs, taken.time_limit, taken.rows) == (2, 3, RowStatement.REAL)


def test_each_field_is_a_flag_of_the_command_line():
    def command():
        """Do nothing."""

    options = {option.name for option in request_options(command).__click_params__}
    assert {each.name for each in fields(AuditOptions)} <= options


@pytest.mark.parametrize(
    "asked", [["--time-limit", "nan"], ["--worlds-budget", "nan"], ["--qi", ""]]
)
def test_the_command_line_refuses_it_as_wrong_usage(asked):
    outcome = run_command("audit", "x.pmml", "--data", "x.csv", *asked)
    assert outcome.exit_code == 2
