"""A run that goes on where another was interrupted: the same report, and a message that can be followed."""

from __future__ import annotations

import click
import pytest

from treewarden.terminal.exits import LONG_SECONDS, RESUMED, going_on


@pytest.mark.parametrize("command", ["audit", "repair"])
def test_a_run_that_keeps_what_is_solved_says_the_same(files, command):
    kept = files.folder / "kept"
    more = ("--list",) if command == "repair" else ()
    asked = ("--split", "none", "--marginal", "--no-worlds", "-q", *more)
    runs = [files.run(command, *asked, *how) for how in ((), ("--resume", kept)) * 2]
    assert len({(run.exit_code, run.stdout, run.stderr) for run in runs}) == 1, runs
    assert kept.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_others_is_refused_before_any_work(files):
    kept = files.folder / "kept"
    kept.mkdir()
    kept.chmod(0o777)
    outcome = files.run("audit", "--resume", kept)
    assert outcome.exit_code == 4
    assert "only you can write into" in outcome.stderr


@pytest.mark.parametrize(
    ("folder", "seconds", "said"),
    [
        ("kept", 1.0, ["kept in kept; run the same command again to continue"]),
        ("", LONG_SECONDS, ["add --resume FOLDER so that the next run can be continued"]),
        ("", 1.0, []),
        (None, LONG_SECONDS, []),
    ],
)
def test_an_interrupt_says_how_to_go_on_where_a_command_can(folder, seconds, said):
    context = click.Context(click.Command("audit"))
    if folder is not None:
        context.meta[RESUMED] = folder
    lines = list(going_on(context, seconds))
    assert len(lines) == len(said)
    assert all(part in line for part, line in zip(said, lines, strict=True))
