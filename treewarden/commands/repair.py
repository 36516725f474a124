"""``treewarden repair``: what is the smallest change that lets a model pass?"""

from __future__ import annotations

import time
from typing import Any

import click

from treewarden.commands._common_options import FILE, FORCE, TAXONOMY
from treewarden.commands._options import PURPOSE, RESUME, request_options_saying
from treewarden.commands._repair_results import (
    apply_change,
    refusal_of,
    show_interrupted,
    write_results,
)
from treewarden.commands._repair_run import TERMINAL_SECONDS, prepare_run
from treewarden.commands._reporting import report_options
from treewarden.policies.repair.attempts import SearchEnd
from treewarden.ppdm_models.files.convert import MODELS
from treewarden.terminal.exits import EXITS, PASS
from treewarden.terminal.resuming import resuming

NOTHING_USEFUL = (
    "no useful change was found; try --grow (a tree grown under the policy) or --private (one with noise), or train "
    "with larger leaves, less depth or fewer columns"
)
SAYS = {
    "time_limit": "Time for the whole repair. It ends with the best change so far.  "
    f"[default: {TERMINAL_SECONDS:g} on a terminal, else none]",
    "worlds_budget": "Time to search for proofs. Changes that are tried together share it.",
}


@click.command("repair")
@request_options_saying(SAYS)
@click.option("-o", "--output", type=FILE, help="The file for the repaired model.")
@FORCE
@click.option("--list", "only_list", is_flag=True, help="List all changes; write no model.")
@click.option(
    "--apply", "change", metavar="NAME", help="Apply this change if it passes: a name from --list."
)
@TAXONOMY
@click.option(
    "--band",
    "bases",
    type=click.IntRange(min=2),
    multiple=True,
    metavar="RECORDS",
    help="Try ranges (such as 10 to 14) of this many records before a number is withheld. "
    "May be repeated.  [default: 5, 10]",
)
@click.option(
    "--holdout",
    type=FILE,
    metavar="TABLE",
    help="Records that the model was not trained on, to measure how much accuracy a repair loses.",
)
@click.option(
    "--with-table",
    "table_output",
    type=FILE,
    help="Also try to sanitise the table, and write it here if that change is chosen.",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(MODELS),
    help="The format of the repaired model.  [default: the format of MODEL]",
)
@click.option(
    "--grow",
    is_flag=True,
    help="If no change passes, train a new tree under the policy from the same table (needs scikit-learn).",
)
@click.option(
    "--private",
    type=click.FloatRange(min=0, min_open=True),
    metavar="EPSILON",
    help="If no change passes, train a tree with differential privacy instead (needs scikit-learn). Each run spends "
    "EPSILON anew.",
)
@click.option(
    "--bound",
    "bounds",
    multiple=True,
    metavar="COLUMN=LOW:HIGH",
    help="For --private: the range of a numeric column, known without the table. May be repeated.",
)
@click.option(
    "--utility",
    type=click.Choice(("accuracy", "auc", "log-loss")),
    default="accuracy",
    show_default=True,
    help="The measure, by cross-validation, that ranks the changes and the tree of --grow.",
)
@report_options("--report")
@click.option("--waivers", type=FILE, hidden=True)
@click.option("--baseline", type=FILE, hidden=True)
@PURPOSE
@RESUME
@click.pass_context
def repair_command(context: click.Context, /, **_: Any) -> None:  # noqa: ANN401  # read from the context
    """Repair a model that fails: find the change that passes and loses the least, and write the changed model.

    For owners of a model whose verdict is FAIL. Every changed model is audited like the original, and the best
    one that passes is written to -o. If MODEL already passes, or no change passes, no model is written.

    A change merges leaves, or withholds numbers in this order: class counts, error rates, record counts, then all but
    the labels. At --time-limit the search ends with the best change so far. Ctrl-C ends it without writing anything.
    """
    run = prepare_run(context)
    subject, options = run.read_subject(), run.options
    inputs = run.read_inputs(subject)
    begun = time.monotonic()
    with resuming(context, options.resume, run.progress):
        repaired = run.search(subject, inputs)
    if repaired.repair.ended is SearchEnd.INTERRUPTED:
        show_interrupted(context, run, subject, repaired, time.monotonic() - begun)
    code = None if options.change is None else refusal_of(repaired, options.change)
    if code is not None and not options.only_list:
        context.exit(code)
    if code is None and (run.growth.grow or run.growth.private is not None):
        repaired = run.grow(subject, repaired)
    elif repaired.repair.is_needed and repaired.file is None and not options.only_list:
        run.progress.say(NOTHING_USEFUL)
    if code is None:
        repaired = apply_change(repaired, options.change, subject)
    repaired = repaired.with_levels(subject, run.progress.step, run.deadline)
    written = write_results(run, subject, repaired)
    written.show(run, subject)
    if code is not None:
        context.exit(code)
    context.exit(PASS if repaired.file else EXITS[repaired.repair.decision.verdict])


COMMAND = repair_command
