"""``treewarden repair``: what is the smallest change that lets a model pass?

It writes the report and the changed files, and says what became of a change that was named.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import click

from treewarden.commands._common_options import (
    FILE,
    FORCE,
    TAXONOMY,
    Number,
    WholeNumber,
    exception_options,
)
from treewarden.commands._options import PURPOSE, RESUME, request_options_saying
from treewarden.commands._repair_run import TERMINAL_SECONDS, RepairRun, prepare_run
from treewarden.commands._reporting import report_options
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.inputs import known_as, model_name
from treewarden.jobs.next_steps import repair_next_steps
from treewarden.jobs.repairing import Repaired
from treewarden.jobs.tables.sanitizing import table_beside
from treewarden.policies.remedies import TableProposal
from treewarden.policies.repair.attempts import SearchEnd
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.files.convert import MODELS
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import File
from treewarden.reports.document.words import wrapped
from treewarden.reports.figures.curve import advice_lines, attempt_lines
from treewarden.terminal.check_table import repair_lines
from treewarden.terminal.exits import EXITS, INTERRUPTED, PASS, USAGE, going_on
from treewarden.terminal.outputs import write_files
from treewarden.terminal.progress import resuming


@dataclass(frozen=True, slots=True)
class RepairOutputs:
    """What a repair left: its report, the files that were written, and in a sentence what came of it."""

    document: Document
    files: Collection[Path]
    message: str

    def show(self, run: RepairRun, subject: AuditInputs) -> None:
        """Print the report, or all changes, and say of each file whether it is written."""
        request, output = run.request, run.options.output
        shown = run.report.reader_document(self.document)
        if run.options.only_list and run.report.is_text_on_stdout:
            _list_changes(shown)
        else:
            model = output if output is not None and output in self.files else None
            has_grown = run.growth.grow or run.growth.private is not None
            steps = repair_next_steps(
                request, subject, shown, model, run.report.paths, has_grown=has_grown
            )
            lines = repair_lines(shown, model_name(request.model), steps)
            run.report.show(shown, lines, known_as(request.model))
        for path in run.options.outputs:
            run.progress.say(
                f"written: {path}"
                if path in self.files
                else f"{path} is not written: {self.message}"
            )


def show_interrupted(
    context: click.Context,
    run: RepairRun,
    subject: AuditInputs,
    repaired: Repaired,
    seconds: float,
) -> NoReturn:
    """Show what was found in so many seconds, and end: nothing is written."""
    if run.report.is_text_on_stdout:
        document = repair_document(repaired.repair, run.provenance(subject), run.options.purpose)
        _list_changes(run.report.reader_document(document))
    click.echo("interrupted: nothing was written", err=True)
    for line in going_on(context, seconds):
        click.echo(line, err=True)
    context.exit(INTERRUPTED)


def refusal_of(repaired: Repaired, name: str) -> int | None:
    """Return the exit code where the change of that name cannot be applied, having said why; None where it can."""
    repair_search = repaired.repair
    if not repair_search.is_needed:
        click.echo(f"{name} is not applied: {repair_search.message}", err=True)
        return None
    repair_attempts = {attempt.name: attempt for attempt in repair_search.attempts}
    if name not in repair_attempts:
        have = ", ".join(repair_attempts) or "none, as nothing could be tried"
        early = "" if repair_search.ended is SearchEnd.DONE else " so far; the time was up"
        click.echo(f"--apply: no change is called {name!r}; use {have}{early}", err=True)
        return USAGE
    tried = repair_attempts[name]
    if tried.verdict is PolicyVerdict.PASS:
        return None
    why = f"does not pass ({tried.verdict.name})"
    if not tried.is_tried:
        why = f"was not audited: {tried.not_audited}"
    click.echo(f"nothing is written: {name} {why}; --list shows what passes", err=True)
    return EXITS[tried.verdict]


def apply_change(repaired: Repaired, name: str | None, subject: AuditInputs) -> Repaired:
    """Return the repair with the change of that name applied, where one is needed and named."""
    chosen = [attempt for attempt in repaired.repair.attempts if attempt.name == name]
    return repaired.choosing(chosen[0], subject) if chosen else repaired


def write_results(run: RepairRun, subject: AuditInputs, repaired: Repaired) -> RepairOutputs:
    """Write the reports and, where a change passes and is not only listed, the model and the table beside it."""
    options = run.options
    with run.progress.step("reporting"):
        provenance = run.provenance(subject)
        if options.output is not None and repaired.file is not None and not options.only_list:
            file = File(name=options.output.name, sha256=hashlib.sha256(repaired.file).hexdigest())
            provenance = provenance.model_copy(update={"written": file})
        document = repair_document(repaired.repair, provenance, options.purpose)
        files = run.report.files(document, known_as(run.request.model))
        if not options.only_list:
            files |= dict(_result_files(run, subject, repaired))
        write_files(files)
    first = f"{repaired.repair.message.partition('. ')[0].rstrip('.')}."  # the report has all of it
    return RepairOutputs(document, files.keys(), first)


def _result_files(
    run: RepairRun, subject: AuditInputs, repaired: Repaired
) -> Iterator[tuple[Path, bytes]]:
    """Yield the repaired model, and the table where it goes with it."""
    applied, options = repaired.repair.applied, run.options
    if repaired.file is None or options.output is None:
        return
    yield options.output, repaired.file
    if applied is None:  # a tree that was grown
        return
    if options.table_output is not None and isinstance(applied.proposal, TableProposal):
        assert isinstance(subject.tree, Tree)
        target = subject.population.sensitive or subject.tree.target
        tree = replace(subject.tree, target=target)
        assert isinstance(run.request.data, Path)
        table = table_beside(tree, run.request.data, subject.pack, applied.proposal)
        yield options.table_output, table


def _list_changes(document: Document) -> None:
    assert document.repair is not None
    lines = (
        *wrapped(document.confidential),
        "",
        *wrapped(document.repair.message),
        *attempt_lines(document.repair),
        *(
            line
            for refusal in document.repair.refusals
            for line in wrapped(f"- {refusal}", "  ", "    ")
        ),
        *advice_lines(document.repair),
    )
    for line in lines:
        click.echo(line)


SAYS = {
    "time_limit": "Time for the whole repair. The best change so far is then written.  "
    f"[default: {TERMINAL_SECONDS:g} on a terminal, else none]",
    "worlds_budget": "Time to search for proofs. All changes tried together share this time.",
}


@click.command("repair")
@request_options_saying(SAYS)
@click.option(
    "-o", "--output", type=FILE, help="The file for the repaired model.  [required, or --list]"
)
@FORCE
@click.option("--list", "only_list", is_flag=True, help="List all changes; write no model.")
@click.option(
    "--apply", "change", metavar="NAME", help="Apply this change if it passes: a name from --list."
)
@TAXONOMY
@click.option(
    "--band",
    "bases",
    type=WholeNumber(min=2),
    multiple=True,
    metavar="RECORDS",
    help="The width of a range, such as 10 to 14, that is published instead of a number. The repair tries this before "
    "it removes the number. May be repeated.  [default: 5, 10]",
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
    help="Also try to generalise the table, as 'treewarden sanitize' does. If that change is chosen, the table is "
    "written to this file.",
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
    type=Number(min=0, min_open=True),
    metavar="EPSILON",
    help="If no change passes, train a tree with differential privacy instead (needs scikit-learn). Each run "
    "uses up the privacy budget EPSILON again: two runs together give only the weaker guarantee 2 x EPSILON.",
)
@click.option(
    "--bound",
    "bounds",
    multiple=True,
    metavar="COLUMN=LOW:HIGH",
    help=(
        "For --private: the possible range of a numeric column. Take it from public "
        "knowledge, not from the table. May be repeated."
    ),
)
@click.option(
    "--utility",
    type=click.Choice(("accuracy", "auc", "log-loss")),
    default="accuracy",
    show_default=True,
    help="The metric that ranks the changes, and the trees of --grow. It is computed by cross-validation, or for "
    "ensembles on the training table.",
)
@report_options("--report")
@exception_options(hidden=True)
@PURPOSE
@RESUME
@click.pass_context
def repair_command(context: click.Context, /, **_: Any) -> None:  # noqa: ANN401  # read from the context
    """Find the change that makes the model pass with the smallest loss of accuracy, and write the changed model.

    For owners of a model whose verdict is FAIL. Every changed model is audited like the original, and the best
    one that passes is written to -o. If MODEL already passes, or no change passes, no model is written.

    A change merges leaves or removes numbers. Numbers are removed step by step: class counts, error rates, record
    counts, and last everything except the leaf labels. In boosted models, a change rounds leaf values or drops the last
    trees. At --time-limit the search ends with the best change so far. Ctrl-C ends it without writing anything.
    """
    run = prepare_run(context)
    subject, options = run.read_subject(), run.options
    inputs = run.read_inputs(subject)
    run.check_growth(subject)
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
    if code is None:
        repaired = apply_change(repaired, options.change, subject)
    repaired = repaired.with_levels(subject, run.progress.step, run.deadline)
    written = write_results(run, subject, repaired)
    written.show(run, subject)
    if code is not None:
        context.exit(code)
    context.exit(PASS if repaired.file else EXITS[repaired.repair.decision.verdict])


COMMAND = repair_command
