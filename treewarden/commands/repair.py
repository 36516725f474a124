"""``treewarden repair``: what is the smallest change that lets a model pass?"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from treewarden.commands._common_options import FILE, FORCE, TAXONOMY
from treewarden.commands._options import PURPOSE, RESUME, request_of, request_options_saying
from treewarden.commands._reporting import OutputRequest, report_options, reporting
from treewarden.jobs.audit_inputs import AuditInputs, Request, read_subject
from treewarden.jobs.auditing import CommandClock
from treewarden.jobs.inputs import known_as, model_name, read
from treewarden.jobs.next_steps import repair_next_steps
from treewarden.jobs.repairing import Repaired, repair_file
from treewarden.jobs.sanitizing import table_beside
from treewarden.policies.remedies._records import TableProposal
from treewarden.policies.repair.attempts import SearchEnd
from treewarden.policies.repair.holdout import Deadline, Given, holdout_of
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.errors import OutputError, RemedyError
from treewarden.ppdm_models.files.convert import MODELS
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.taxonomy import load_taxonomies
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.building.build import repair_document
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
    "--apply", "wanted", metavar="NAME", help="Apply this change if it passes: a name from --list."
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
    "beside",
    type=FILE,
    help="Also try to sanitise the table, and write it here if that change is chosen.",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(MODELS),
    help="The format of the repaired model.  [default: the format of MODEL]",
)
@report_options("--report")
@click.option("--waivers", type=FILE, hidden=True)
@click.option("--baseline", type=FILE, hidden=True)
@PURPOSE
@RESUME
@click.pass_context
def repair_command(
    context: click.Context,
    /,
    output: Path | None,
    force: bool,
    target: str | None,
    only_list: bool,
    wanted: str | None,
    taxonomies: tuple[Path, ...],
    bases: tuple[int, ...],
    holdout: Path | None,
    beside: Path | None,
    formats: tuple[OutputRequest, ...],
    folder: Path | None,
    redacted: bool,
    verbose: bool,
    waivers: Path | None,
    baseline: Path | None,
    purpose: str,
    resume: Path | None,
    quiet: bool,
    **_: Any,  # noqa: ANN401  # the shared options; request_of reads them from the context
) -> None:
    """Repair a model that fails: find the smallest change that makes it pass, and write the changed model.

    For owners of a model that 'treewarden audit' failed. Every change is audited like the original, and the cheapest
    one that passes is written to -o. If MODEL already passes, or no change passes, no model is written.

    A change merges leaves, or withholds numbers in this order: class counts, error rates, record counts, then all but
    the labels. At --time-limit the search ends with the best change so far. Ctrl-C ends it without writing anything.
    """
    for option, file in (("--waivers", waivers), ("--baseline", baseline)):
        if file is not None:
            raise click.UsageError(
                f"{option}: a repair looks for a change after which nothing has to be accepted; leave it out"
            )
    clock, progress, request = CommandClock(), ProgressPrinter(quiet), request_of(context)
    deadline = _deadline(request)
    request = replace(request, options=replace(request.options, time_limit=None))
    if beside is not None and request.options.weights is not None:
        raise click.UsageError(
            "--weights beside --with-table: tables are sanitised by counting rows; "
            "write a row as often as its weight says"
        )
    if beside is not None and request.options.sampling_weights is not None:
        raise click.UsageError(
            "--sampling-weights beside --with-table: the tree would be grown again from a sanitised table without "
            "weights, and be another; leave out --with-table"
        )
    report = reporting("repair", formats, folder, is_redacted=redacted, is_verbose=verbose)
    targets = _targets(output, beside, only_list)
    for path in targets:
        check_file(path)
    check_no_input((*report.paths, *targets), (*request.files, holdout, *taxonomies))
    _check_new(targets, force)
    check_apart((*report.paths, *targets))

    subject = read_subject(report.asking(request), progress.step)
    if beside is not None and isinstance(subject.tree, Ensemble):
        problem = (
            "an ensemble; a table is sanitised beside a single tree only, so leave out --with-table"
        )
        raise RemedyError(subject.tree.source, problem)
    given = replace(
        _repair_inputs(
            subject.tree,
            request,
            taxonomies,
            holdout,
            sensitive=subject.population.sensitive,
            with_table=beside is not None,
        ),
        bases=tuple(sorted(set(bases))),
    )
    name = model_name(request.model) if output is None else output.name
    begun = time.monotonic()
    with resuming(context, resume, progress):
        repaired = repair_file(
            subject,
            name,
            given,
            target,
            progress.step,
            deadline=deadline,
            every=only_list,
            wanted=wanted or "",
            tell=progress.say,
        )
    if repaired.repair.ended is SearchEnd.INTERRUPTED:
        if report.is_text_on_stdout:
            told = clock.provenance(request, subject.pack, table=subject.table)
            so_far = repair_document(repaired.repair, told, purpose)
            _list(report.shown(so_far))
        click.echo("interrupted: nothing was written", err=True)
        for line in going_on(context, time.monotonic() - begun):
            click.echo(line, err=True)
        context.exit(INTERRUPTED)
    code = _refusal(repaired, wanted) if wanted is not None else None
    if code is not None and not only_list:
        context.exit(code)
    if code is None:
        repaired = _applied(repaired, wanted, subject)
    repaired = repaired.with_levels(subject, progress.step, deadline)
    with progress.step("reporting"):
        repair_search = repaired.repair
        provenance = clock.provenance(request, subject.pack, table=subject.table)
        if output is not None and repaired.file is not None and not only_list:
            provenance = _writing(provenance, output, repaired.file)
        document = repair_document(repair_search, provenance, purpose)
        files = report.files(document, known_as(request.model))
        if not only_list:
            files |= dict(_results(subject, request, repaired, output, beside))
        write_files(files)
    if only_list and report.is_text_on_stdout:
        _list(report.shown(document))
    else:
        shown = report.shown(document)
        model = output if output is not None and output in files else None
        steps = repair_next_steps(request, subject, shown, model, report.paths)
        lines = repair_lines(shown, model_name(request.model), steps)
        report.show(shown, lines, known_as(request.model))
    for path in targets:
        done = path in files
        progress.say(
            f"written: {path}" if done else f"{path} is not written: {repair_search.message}"
        )
    if code is not None:
        context.exit(code)
    context.exit(PASS if repaired.file else EXITS[repair_search.decision.verdict])


def _deadline(request: Request) -> Deadline:
    """Return when the repair ends: where somebody waits, not too late."""
    limit = request.options.time_limit
    if limit is None and sys.stderr.isatty():
        limit = TERMINAL_SECONDS
    return Deadline.after(limit)


def _targets(output: Path | None, beside: Path | None, only_list: bool) -> tuple[Path, ...]:
    """Return the files that may be written."""
    if only_list:
        return ()
    if output is None:
        raise click.UsageError("say where the repaired model goes (-o FILE), or --list")
    return (output,) if beside is None else (output, beside)


def _check_new(targets: tuple[Path, ...], force: bool) -> None:
    for path in targets:
        check_new(path, force)
    if len({real(path) for path in targets}) < len(targets):
        raise OutputError(str(targets[0]), "is the model and the table at once; name two files")


def _repair_inputs(
    model: Model,
    request: Request,
    taxonomies: tuple[Path, ...],
    holdout: Path | None,
    *,
    sensitive: str,
    with_table: bool,
) -> Given:
    return Given(
        load_taxonomies(taxonomies),
        matched(
            model,
            read(request.data),
            sensitive=sensitive or None,
            qi=request.options.qi,
        ).table
        if with_table
        else None,
        None if holdout is None else holdout_of(model, read_table(holdout), sensitive),
    )


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


def _writing(told: Provenance, output: Path, data: bytes) -> Provenance:
    written = File(name=output.name, sha256=hashlib.sha256(data).hexdigest())
    return told.model_copy(update={"written": written})


def _results(
    subject: AuditInputs,
    request: Request,
    repaired: Repaired,
    output: Path | None,
    beside: Path | None,
) -> Iterator[tuple[Path, bytes]]:
    """Yield the repaired model, and the table where it goes with it."""
    applied = repaired.repair.applied
    if repaired.file is None or output is None or applied is None:
        return
    yield output, repaired.file
    if beside is not None and isinstance(applied.proposal, TableProposal):
        assert isinstance(subject.tree, Tree)
        target = subject.population.sensitive or subject.tree.target
        tree = replace(subject.tree, target=target)
        assert isinstance(request.data, Path)
        yield beside, table_beside(tree, request.data, subject.pack, applied.proposal)


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
