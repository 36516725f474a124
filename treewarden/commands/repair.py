"""``treewarden repair``: what is the smallest change that lets a model pass?"""

from __future__ import annotations

import hashlib
import importlib
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import click

from treewarden.audit.options import AuditOptions
from treewarden.commands._common_options import FILE, FORCE, TAXONOMY, options_record
from treewarden.commands._options import PURPOSE, RESUME, request_of, request_options_saying
from treewarden.commands._reporting import OutputRequest, Reporting, report_options, reporting
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import CommandClock
from treewarden.jobs.inputs import known_as, model_name, read
from treewarden.jobs.next_steps import repair_next_steps
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import Repaired, repair_file
from treewarden.jobs.tables.sanitizing import table_beside
from treewarden.policies.remedies._records import TableProposal
from treewarden.policies.repair.attempts import SearchEnd
from treewarden.policies.repair.holdout import Deadline, Given, holdout_of
from treewarden.policies.repair.utility import UtilityName
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.errors import OutputError, RemedyError
from treewarden.ppdm_models.files.convert import MODELS
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.taxonomy import load_taxonomies
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.document.document import Document, Provenance
from treewarden.reports.document.parts import File
from treewarden.reports.document.words import wrapped
from treewarden.reports.figures.attempts import advice_lines, attempt_lines
from treewarden.terminal.exits import EXITS, INTERRUPTED, PASS, USAGE, going_on
from treewarden.terminal.outputs import (
    check_apart,
    check_file,
    check_new,
    check_no_input,
    real,
    write_files,
)
from treewarden.terminal.progress import ProgressPrinter
from treewarden.terminal.repair_summary import repair_lines
from treewarden.terminal.resuming import resuming

TERMINAL_SECONDS = 300.0
"""The limit where somebody waits at a terminal and gives none; a pipeline waits for the whole answer."""
NOTHING_USEFUL = (
    "no useful change was found; try --grow (a tree grown under the policy) or --private (one with noise), or train "
    "with larger leaves, less depth or fewer columns"
)
SAYS = {
    "time_limit": "Time for the whole repair. It ends with the best change so far.  "
    f"[default: {TERMINAL_SECONDS:g} on a terminal, else none]",
    "worlds_budget": "Time to search for proofs, shared by changes that are tried together.",
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
    help="Try bands of this many records before withholding a number. May be repeated.  [default: 5, 10]",
)
@click.option(
    "--holdout",
    type=FILE,
    metavar="TABLE",
    help="Records that the model was not trained on, to measure its loss.",
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
    help="What the changes, and the tree of --grow, are compared by, in cross-validation.",
)
@report_options("--report")
@click.option("--waivers", type=FILE, hidden=True)
@click.option("--baseline", type=FILE, hidden=True)
@PURPOSE
@RESUME
@click.pass_context
def repair_command(context: click.Context, /, **_: Any) -> None:  # noqa: ANN401  # read from the context
    """Repair a model that fails: find the smallest change that makes it pass, and write the changed model.

    For owners of a model that 'treewarden audit' failed. Every change is audited like the original, and the cheapest
    one that passes is written to -o. If MODEL already passes, or no change passes, no model is written.

    A change merges leaves, or withholds numbers in this order: class counts, error rates, record counts, then all but
    the labels. At --time-limit the search ends with the best change so far. Ctrl-C ends it without writing anything.
    """
    run = _prepare(context)
    subject, options = run.read_subject(), run.options
    inputs = run.read_inputs(subject)
    begun = time.monotonic()
    with resuming(context, options.resume, run.progress):
        repaired = run.search(subject, inputs)
    if repaired.repair.ended is SearchEnd.INTERRUPTED:
        _show_interrupted(context, run, subject, repaired, time.monotonic() - begun)
    code = None if options.change is None else _refusal(repaired, options.change)
    if code is not None and not options.only_list:
        context.exit(code)
    if code is None and (run.growth.grow or run.growth.private is not None):
        repaired = run.grow(subject, repaired)
    elif repaired.repair.is_needed and repaired.file is None and not options.only_list:
        run.progress.say(NOTHING_USEFUL)
    if code is None:
        repaired = _applied(repaired, options.change, subject)
    repaired = repaired.with_levels(subject, run.progress.step, run.deadline)
    written = _write(run, subject, repaired)
    written.show(run, subject)
    if code is not None:
        context.exit(code)
    context.exit(PASS if repaired.file else EXITS[repaired.repair.decision.verdict])


@dataclass(frozen=True, slots=True)
class RepairOptions:
    """What the command is asked for beside what an audit is; a field has the name of its parameter."""

    output: Path | None
    force: bool
    target: str | None
    only_list: bool
    change: str | None
    taxonomies: tuple[Path, ...]
    bases: tuple[int, ...]
    holdout: Path | None
    table_output: Path | None
    formats: tuple[OutputRequest, ...]
    folder: Path | None
    redacted: bool
    verbose: bool
    purpose: str
    resume: Path | None

    @property
    def outputs(self) -> tuple[Path, ...]:
        """The files that may be written beside reports.

        Raises:
            click.UsageError: none is named, and the changes are not to be listed.
        """
        if self.only_list:
            return ()
        if self.output is None:
            raise click.UsageError("add -o FILE for the repaired model, or --list")
        return (self.output,) if self.table_output is None else (self.output, self.table_output)


@dataclass(frozen=True, slots=True)
class GrowthOptions:
    """Whether a tree is grown where no change passes, and what all are compared by; fields are named as parameters.

    ``private`` is the epsilon that a tree with differential privacy may cost, ``bounds`` what is known of its columns.
    """

    grow: bool
    utility: UtilityName
    private: float | None
    bounds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RepairRun:
    """A repair whose options are checked: what is asked for, until when, where reports go and who hears of it."""

    request: Request
    options: RepairOptions
    report: Reporting
    deadline: Deadline
    clock: CommandClock
    progress: ProgressPrinter
    growth: GrowthOptions

    def read_subject(self) -> AuditInputs:
        """Read all that an audit of the model needs.

        Raises:
            RemedyError: a table is to be sanitised beside an ensemble.
        """
        subject = read_subject(self.report.asking(self.request), self.progress.step)
        if self.options.table_output is not None and isinstance(subject.tree, Ensemble):
            problem = "an ensemble; a table is sanitised beside a single tree only, so leave out --with-table"
            raise RemedyError(subject.tree.source, problem)
        return subject

    def read_inputs(self, subject: AuditInputs) -> Given:
        """Read what the changes are made with, and what their loss is measured on."""
        options, model, sensitive = self.options, subject.tree, subject.population.sensitive
        hierarchies = load_taxonomies(options.taxonomies)
        table = None
        if options.table_output is not None:
            table = matched(
                model,
                read(self.request.data),
                sensitive=sensitive or None,
                qi=self.request.options.qi,
            ).table
        holdout = None
        if options.holdout is not None:
            holdout = holdout_of(model, read_table(options.holdout), sensitive)
        return Given(
            hierarchies,
            table,
            holdout,
            tuple(sorted(set(options.bases))),
            utility=self.growth.utility,
        )

    def search(self, subject: AuditInputs, inputs: Given) -> Repaired:
        """Look for a change that passes."""
        output = self.options.output
        return repair_file(
            subject,
            model_name(self.request.model) if output is None else output.name,
            inputs,
            self.options.target,
            self.progress.step,
            deadline=self.deadline,
            every=self.options.only_list,
            wanted=self.options.change or "",
            tell=self.progress.say,
        )

    def grow(self, subject: AuditInputs, repaired: Repaired) -> Repaired:
        """Return the repair with a tree grown under the policy as its file, where no change passes and that does.

        Raises:
            RemedyError: scikit-learn is not installed, or the table has weights.
        """
        if not repaired.repair.is_needed or repaired.file is not None:
            return repaired
        grown = self._train(subject)
        self.progress.say(grown.message)
        message = f"{repaired.repair.message} {grown.message}"
        repair_with_tree = replace(repaired.repair, message=message)
        return replace(repaired, repair=repair_with_tree, file=grown.data)

    def _train(self, subject: AuditInputs) -> Any:  # noqa: ANN401  # a GrownFile of a room that may not be there
        """Return the file of a new tree: private, or grown under the policy."""
        option = "--grow" if self.growth.private is None else "--private"
        room = "grown_file" if self.growth.private is None else "private_file"
        try:
            learners = importlib.import_module(f"treewarden.learn.{room}")
        except ImportError as error:
            problem = "needs scikit-learn 1.6 or newer; pip install scikit-learn"
            raise RemedyError(option, problem) from error
        target, step = self.options.target, self.progress.step
        if self.growth.private is None:
            return learners.grown_file(self.request, subject, target, self.growth.utility, step)
        try:
            bounds = learners.read_bounds(self.growth.bounds)
        except ValueError as error:
            raise RemedyError("--bound", str(error)) from error
        wanted = learners.PrivateTreeRequest(self.growth.private, bounds)
        return learners.private_file(self.request, subject, wanted, target, step)

    def provenance(self, subject: AuditInputs) -> Provenance:
        """Return what the report says of the run itself."""
        return self.clock.provenance(self.request, subject.pack, table=subject.table)


@dataclass(frozen=True, slots=True)
class RepairOutputs:
    """What a repair left: its report, the files that were written, and what came of it in words."""

    document: Document
    files: Collection[Path]
    message: str

    def show(self, run: RepairRun, subject: AuditInputs) -> None:
        """Print the report, or all changes, and say of each file whether it is written."""
        request, output = run.request, run.options.output
        shown = run.report.shown(self.document)
        if run.options.only_list and run.report.is_text_on_stdout:
            _list(shown)
        else:
            model = output if output is not None and output in self.files else None
            steps = repair_next_steps(request, subject, shown, model, run.report.paths)
            lines = repair_lines(shown, model_name(request.model), steps)
            run.report.show(shown, lines, known_as(request.model))
        for path in run.options.outputs:
            run.progress.say(
                f"written: {path}"
                if path in self.files
                else f"{path} is not written: {self.message}"
            )


def _prepare(context: click.Context) -> RepairRun:
    """Return the run that the parameters of the command ask for, checked before any work."""
    _refuse_exceptions(context)
    clock, progress = CommandClock(), ProgressPrinter(context.params["quiet"])
    request, options = request_of(context), options_record(RepairOptions, context)
    deadline = _deadline(request)
    request = replace(request, options=replace(request.options, time_limit=None))
    if options.table_output is not None:
        _refuse_weights(request.options)
    report = reporting(
        "repair",
        options.formats,
        options.folder,
        is_redacted=options.redacted,
        is_verbose=options.verbose,
    )
    outputs = options.outputs
    for path in outputs:
        check_file(path)
    check_no_input(
        (*report.paths, *outputs), (*request.paths, options.holdout, *options.taxonomies)
    )
    _check_new(outputs, options.force)
    check_apart((*report.paths, *outputs))
    growth = options_record(GrowthOptions, context)
    if growth.grow and growth.private is not None:
        raise click.UsageError("--grow and --private train different trees; choose one")
    if growth.bounds and growth.private is None:
        raise click.UsageError("--bound is for --private; add --private EPSILON, or leave it out")
    return RepairRun(
        request, options, report, deadline=deadline, clock=clock, progress=progress, growth=growth
    )


def _refuse_exceptions(context: click.Context) -> None:
    """Refuse the files of what is accepted, which an audit takes."""
    for name in ("waivers", "baseline"):
        if context.params[name] is not None:
            raise click.UsageError(
                f"--{name}: a repair looks for a change after which nothing has to be accepted; leave it out"
            )


def _deadline(request: Request) -> Deadline:
    """Return when the repair ends: where somebody waits, not too late."""
    limit = request.options.time_limit
    if limit is None and sys.stderr.isatty():
        limit = TERMINAL_SECONDS
    return Deadline.after(limit)


def _refuse_weights(options: AuditOptions) -> None:
    """Refuse weights where a table is sanitised beside the tree."""
    if options.weights is not None:
        raise click.UsageError(
            "--weights beside --with-table: tables are sanitised by counting rows; "
            "write a row as often as its weight says"
        )
    if options.sampling_weights is not None:
        raise click.UsageError(
            "--sampling-weights beside --with-table: the tree would be grown again from a sanitised table without "
            "weights, and be another; leave out --with-table"
        )


def _check_new(outputs: tuple[Path, ...], force: bool) -> None:
    for path in outputs:
        check_new(path, force)
    if len({real(path) for path in outputs}) < len(outputs):
        raise OutputError(str(outputs[0]), "is the model and the table at once; name two files")


def _show_interrupted(
    context: click.Context,
    run: RepairRun,
    subject: AuditInputs,
    repaired: Repaired,
    seconds: float,
) -> NoReturn:
    """Show what was found in so many seconds, and end: nothing is written."""
    if run.report.is_text_on_stdout:
        document = repair_document(repaired.repair, run.provenance(subject), run.options.purpose)
        _list(run.report.shown(document))
    click.echo("interrupted: nothing was written", err=True)
    for line in going_on(context, seconds):
        click.echo(line, err=True)
    context.exit(INTERRUPTED)


def _refusal(repaired: Repaired, name: str) -> int | None:
    """Return the exit code where the change of that name cannot be applied, having said why; None where it can."""
    repair_search = repaired.repair
    if not repair_search.is_needed:
        click.echo(f"{name} is not applied: {repair_search.message}", err=True)
        return None
    repair_attempts = {attempt.name: attempt for attempt in repair_search.attempts}
    if name not in repair_attempts:
        have = ", ".join(repair_attempts) or "none, as nothing could be tried"
        early = "" if repair_search.ended is SearchEnd.DONE else " so far; the time was up"
        click.echo(f"--apply: no change is called {name!r}; have {have}{early}", err=True)
        return USAGE
    tried = repair_attempts[name]
    if tried.verdict is Verdict.PASS:
        return None
    why = f"does not pass ({tried.verdict.name})"
    if not tried.is_tried:
        why = f"was not audited: {tried.not_audited}"
    click.echo(f"nothing is written: {name} {why}; --list shows what passes", err=True)
    return EXITS[tried.verdict]


def _applied(repaired: Repaired, name: str | None, subject: AuditInputs) -> Repaired:
    """Return the repair with the change of that name applied, where one is needed and named."""
    chosen = [attempt for attempt in repaired.repair.attempts if attempt.name == name]
    return repaired.choosing(chosen[0], subject) if chosen else repaired


def _write(run: RepairRun, subject: AuditInputs, repaired: Repaired) -> RepairOutputs:
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
            files |= dict(_results(run, subject, repaired))
        write_files(files)
    return RepairOutputs(document, files.keys(), repaired.repair.message)


def _results(
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


def _list(document: Document) -> None:
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


COMMAND = repair_command
