"""The boundary of the command line: every error becomes one line and an exit code."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from tests.kit.run import run_command
from treewarden.ppdm_models.errors import TableError
from treewarden.terminal.exits import INTERRUPTED, MEANINGS, NO_AUDIT, PIPE_CLOSED, USAGE, boundary


def outcome_of(error):
    @click.command()
    def command() -> None:
        with boundary(click.Context(click.Group("treewarden"))):
            raise error

    return CliRunner().invoke(command)


@pytest.mark.parametrize(
    "error",
    [
        TableError("people.csv", "no column 'flu'"),
        MemoryError(),
        FileNotFoundError(2, "No such file or directory", "people.csv"),
        RecursionError("too deep"),
        ZeroDivisionError("division by zero"),
        ModuleNotFoundError("No module named 'sklearn'", name="sklearn"),
    ],
)
def test_an_error_is_one_line_on_stderr_and_no_verdict(error):
    outcome = outcome_of(error)
    assert outcome.exit_code == NO_AUDIT
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("no audit was performed: ")
    assert outcome.stderr.count("\n") == 1


def test_the_message_of_an_error_is_passed_on():
    assert (
        "people.csv: no column 'flu'"
        in outcome_of(TableError("people.csv", "no column 'flu'")).stderr
    )


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), INTERRUPTED, "interrupted: nothing was written\n"),
        (BrokenPipeError(), PIPE_CLOSED, ""),
    ],
)
def test_being_stopped_from_outside_takes_a_line_at_most(error, code, said):
    outcome = outcome_of(error)
    assert (outcome.exit_code, outcome.output) == (code, said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit"], "give MODEL, for example: treewarden audit tree.pmml --data table.csv"),
        (["audit", "--dat", "x"], "no such option '--dat' (did you mean '--data'?)"),
        (["audit", "--zzz"], "no such option '--zzz'"),
        (["anonymize", "t.csv", "-o", "o.csv"], "add --sensitive COLUMN"),
        (
            ["attest", "tree.pmml", "--data", "t.csv", "-o", "a.json"],
            "add --key PATH; make one with treewarden attest --make-key FILE",
        ),
        (["policy", "explain"], "give "),
    ],
)
def test_a_command_line_that_lacks_something_is_answered_with_what_to_add(words, said):
    outcome = run_command(*words)
    assert outcome.exit_code == USAGE
    assert f"Error: {said}" in outcome.stderr


def test_a_name_in_a_message_cannot_act_on_the_terminal():
    said = outcome_of(TableError("a\x1b[31mb\nc.csv", "no column 'd\u202e'")).stderr
    assert (
        said
        == "no audit was performed: a\\x1b[31mb\\nc.csv: no column 'd\\u202e'; for help: treewarden --help\n"
    )


def test_no_other_code_than_0_is_a_pass():
    assert [code for code, meaning in MEANINGS.items() if meaning.startswith("PASS")] == [0]


@pytest.mark.processes
def test_a_command_ends_without_looking_for_garbage_among_all_that_it_made():
    code = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print('spared', gc.get_count()[0] < gc.get_freeze_count()))\n"
        "sys.argv = ['treewarden', '--version']\n"
        "from treewarden.cli import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["spared", "True"]
