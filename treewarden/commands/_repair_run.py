"""One repair on the command line: its options, checked before any work, and the steps of its search."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from treewarden.audit.options import AuditOptions
from treewarden.commands._common_options import options_record
from treewarden.commands._options import request_of
from treewarden.commands._reporting import OutputRequest, Reporting, reporting
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import EXCEPTIONS, Request
from treewarden.jobs.auditing import CommandClock
from treewarden.jobs.inputs import model_name, read
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import Repaired, repair_file
from treewarden.policies.repair.utility import Deadline, RepairResources, UtilityName, holdout_of
from treewarden.ppdm_models.errors import OutputError, RemedyError, in_role
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.taxonomy import load_taxonomies
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.reports.building.steps import repair_target
from treewarden.reports.document.document import Provenance
from treewarden.terminal.outputs import (
    check_apart,
    check_ending,
    check_file,
    check_model_ending,
    check_new,
    check_no_input,
    real,
)
from treewarden.terminal.progress import ProgressPrinter

TERMINAL_SECONDS = 300.0
"""The limit where somebody waits at a terminal and gives none; a pipeline waits for the whole answer."""


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
            problem = (
                "this is an ensemble, but a table can be sanitised only together "
                "with a single tree; leave out --with-table"
            )
            raise RemedyError(subject.tree.source, problem)
        is_trained_anew = self.growth.grow or self.growth.private is not None
        output, model = self.options.output, self.request.model
        # A format that is only read has no ending to be right: that one has to be chosen is said instead.
        form = self.options.target or (
            "" if repair_target(subject.tree) != "" else subject.tree.format
        )
        if form and output is not None and isinstance(model, Path) and not is_trained_anew:
            check_model_ending(output, model, form)
        return subject

    def read_inputs(self, subject: AuditInputs) -> RepairResources:
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
            with in_role("the held-out records"):
                holdout = holdout_of(model, read_table(options.holdout), sensitive)
        return RepairResources(
            hierarchies,
            table,
            holdout,
            tuple(sorted(set(options.bases))),
            utility=self.growth.utility,
        )

    def search(self, subject: AuditInputs, inputs: RepairResources) -> Repaired:
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
            chosen=self.options.change or "",
            tell=self.progress.say,
            trains_anew=self.growth.grow or self.growth.private is not None,
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
        return repaired.with_new_model(grown.message, grown.data, grown.attempt)

    def check_growth(self, subject: AuditInputs) -> None:
        """Check that a private tree can be trained where one is asked for: before a search that may take long.

        Raises:
            RemedyError: it cannot.
        """
        if self.growth.private is not None:
            _learners(self.growth).prepare_private(self.request, subject, self._private_request())

    def _train(self, subject: AuditInputs) -> Any:  # noqa: ANN401  # a GrownFile of a room that may not be there
        """Return the file of a new tree: private, or grown under the policy."""
        learners = _learners(self.growth)
        target, step = self.options.target, self.progress.step
        if self.growth.private is None:
            return learners.grown_file(self.request, subject, target, self.growth.utility, step)
        wanted = self._private_request()
        return learners.private_file(self.request, subject, wanted, target, step)

    def _private_request(self) -> Any:  # noqa: ANN401  # of a room that may not be there
        """Return what a private tree may cost, and what is known of its columns.

        Raises:
            RemedyError: bounds are not written as such.
        """
        learners = _learners(self.growth)
        try:
            bounds = learners.read_bounds(self.growth.bounds)
        except ValueError as error:
            raise RemedyError("--bound", str(error)) from error
        return learners.PrivateTreeRequest(self.growth.private, bounds)

    def provenance(self, subject: AuditInputs) -> Provenance:
        """Return what the report says of the run itself."""
        return self.clock.provenance(self.request, subject.pack, table=subject.table)


def prepare_run(context: click.Context) -> RepairRun:
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
    growth = options_record(GrowthOptions, context)
    for path in outputs:
        check_file(path)
    check_no_input(
        (*report.paths, *outputs), (*request.paths, options.holdout, *options.taxonomies)
    )
    _check_new(outputs, options.force)
    check_apart((*report.paths, *outputs))
    _check_endings(request, options)
    if growth.grow and growth.private is not None:
        raise click.UsageError("--grow and --private train different trees; choose one")
    if growth.bounds and growth.private is None:
        raise click.UsageError("--bound is for --private; add --private EPSILON, or leave it out")
    if growth.grow or growth.private is not None:
        _learners(growth)  # said before the search, not after it
    return RepairRun(
        request, options, report, deadline=deadline, clock=clock, progress=progress, growth=growth
    )


def _learners(growth: GrowthOptions) -> ModuleType:
    """Return the room of trees that are trained anew.

    Raises:
        RemedyError: scikit-learn is not installed.
    """
    try:
        return importlib.import_module("treewarden.learn.replacement_trees")
    except ImportError as error:
        option = "--grow" if growth.private is None else "--private"
        problem = "needs scikit-learn 1.6 or newer; pip install scikit-learn"
        raise RemedyError(option, problem) from error


def _check_endings(request: Request, options: RepairOptions) -> None:
    """Check that neither result is named as another kind of file.

    Raises:
        OutputError: one is.
    """
    assert isinstance(request.model, Path)
    if options.output is not None and not options.only_list:
        check_model_ending(options.output, request.model, options.target or "")
    if options.table_output is not None:
        check_ending(options.table_output, "a CSV table", (".csv",))


def _refuse_exceptions(context: click.Context) -> None:
    """Refuse the files of what is accepted, which an audit takes."""
    for name in EXCEPTIONS:
        if context.params[name] is not None:
            raise click.UsageError(
                f"--{name}: a repair searches for a change that needs no accepted "
                "findings; leave it out"
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
            "--weights cannot be combined with --with-table, because tables are "
            "sanitised by counting rows; repeat each row as often as its weight"
        )
    if options.sampling_weights is not None:
        raise click.UsageError(
            "--sampling-weights cannot be combined with --with-table, because a "
            "sanitised table has no weights; leave out --with-table"
        )


def _check_new(outputs: tuple[Path, ...], force: bool) -> None:
    for path in outputs:
        check_new(path, force)
    if len({real(path) for path in outputs}) < len(outputs):
        raise OutputError(
            str(outputs[0]), "-o and --with-table name the same file; give two different files"
        )
