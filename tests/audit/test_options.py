"""How an audit is asked for: a value that cannot be is refused, from Python as from the command line."""

import inspect
import math

import click
import pytest
from click.testing import CliRunner

import treewarden
from treewarden.api.requests import Options
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.audit.options import OPTION_SPECS, AuditOptions, RowStatement, find_conflict
from treewarden.commands._options import request_of, request_options
from treewarden.jobs.read_inputs import knowledge_of


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
        {"columns": "f0=age"},
        {"columns": ("f0",)},
        {"columns": ("=age",)},
        {"columns": ("f0=",)},
        {"columns": ("f0=age", "f1=age")},
        {"columns": ("f0=age", "f0=town")},
        {"columns": {"f0": 1}},
        {"columns": {"f=0": "age"}},
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


def test_a_mapping_is_what_its_pairs_are():
    taken = AuditOptions(columns={"f0": "age", "f1": "a=b"})
    assert taken == AuditOptions(columns=("f0=age", "f1=a=b"))
    assert taken.column_of_feature == {"f0": "age", "f1": "a=b"}
    assert AuditOptions().column_of_feature == {}


def test_each_field_is_a_flag_of_the_command_line():
    def command():
        """Do nothing."""

    options = {option.name for option in request_options(command).__click_params__}
    assert set(OPTION_SPECS) <= options


def test_each_field_is_a_keyword_of_python():
    keywords = set(inspect.signature(treewarden.audit).parameters) | set(Options.__annotations__)
    assert set(OPTION_SPECS) <= keywords


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"weights": "n", "sampling_weights": "w"}, "weights"),
        ({"bins": ("1",)}, "bins"),
        ({"sensitive": "flu", "columns": ("f0=flu",)}, "columns"),
        ({"weights": "n", "columns": ("f0=n",)}, "columns"),
        ({"secret": "age", "target_known": True}, "target_known"),
    ],
)
def test_options_that_exclude_each_other_are_named_as_the_reader_writes_them(given, named):
    conflict = find_conflict(AuditOptions(**given), "--{}".format)
    assert conflict is not None
    assert conflict.name == named
    assert "--" in conflict.problem


def test_what_is_known_of_the_learner_reaches_the_audit():
    @click.command()
    @request_options
    @click.pass_context
    def command(context, /, **given):
        known = knowledge_of(request_of(context))
        click.echo(f"{known.strict_labels} {known.min_leaf}")

    words = ["t.pmml", "--data", "t.csv", "--strict-labels", "--min-leaf", "7"]
    assert CliRunner().invoke(command, words).output == "True 7\n"
