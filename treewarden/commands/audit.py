"""``treewarden audit``: what does a published tree give away?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click

from treewarden.audit.progress import nobody_hears
from treewarden.audit.result import Audit
from treewarden.commands._common_options import FILE, exception_options
from treewarden.commands._options import PURPOSE, RESUME, request_of, request_options_alone
from treewarden.commands._reporting import (
    ON_STDOUT,
    OutputRequest,
    Reporting,
    report_options,
    reporting,
)
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import CommandClock, JudgedAudit, audit_file
from treewarden.jobs.inputs import known_as
from treewarden.jobs.next_steps import audit_steps
from treewarden.jobs.typed_commands import repair_command
from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.building.build import audit_document
from treewarden.reports.document.parts import as_json
from treewarden.reports.document.words import printable
from treewarden.terminal.exits import EXITS, NO_AUDIT, RESUMED
from treewarden.terminal.outputs import (
    JSON_ENDINGS,
    beside,
    check_apart,
    check_ending,
    check_file,
    check_no_input,
    real,
    write_files,
)
from treewarden.terminal.progress import ProgressPrinter
from treewarden.terminal.summary import summary_lines


@click.command("audit")
@request_options_alone
@report_options("--out")
@PURPOSE
@click.option(
    "--posterior",
    "posterior_path",
    type=FILE,
    help="Also write the inferred probabilities (confidential) as .csv or .parquet, with one row per group and class.",
)
@exception_options()
@click.option(
    "--write-baseline",
    "new_baseline",
    type=FILE,
    help="Also write the current findings as a baseline. Confidential like a report.",
)
@RESUME
@click.option(
    "--plan",
    is_flag=True,
    help="Only print the size of the audit and the expected time and memory. "
    "The exit code is 4, because nothing is audited.",
)
@click.pass_context
def audit_command(
    context: click.Context,
    /,
    formats: tuple[OutputRequest, ...],
    folder: Path | None,
    redacted: bool,
    verbose: bool,
    purpose: str,
    posterior_path: Path | None,
    new_baseline: Path | None,
    resume: Path | None,
    plan: bool,
    quiet: bool,
    **_: Any,  # noqa: ANN401  # the shared options; request_of reads them from the context
) -> None:
    """Check whether a model may be published: what does it disclose about the people in its training table?

    For data stewards and output checkers. MODEL is the file that you want to publish, and --data is its training table.
    With --no-table, the audit uses the model file alone.

    The command prints a summary. To keep a report, add --format, for example --format html=audit.html.

    If earlier models of the same people were published, give them first, oldest first. All are judged together, and
    the last one is the one that you want to publish.
    """
    clock, progress = CommandClock(), ProgressPrinter(quiet)
    request = request_of(context)
    report = reporting("audit", formats, folder, is_redacted=redacted, is_verbose=verbose)
    if posterior_path is not None:
        from treewarden.jobs.posterior import check_suffix  # for a file of the estimate only

        check_suffix(posterior_path)
        check_file(posterior_path)
    if new_baseline is not None:
        check_file(new_baseline)
    wanted = (*report.paths, *(path for path in (posterior_path, new_baseline) if path))
    check_apart(wanted)
    check_no_input(wanted, request.paths)
    if new_baseline is not None:
        check_ending(new_baseline, "a baseline", JSON_ENDINGS)
    if len({real(path) for path in wanted}) < len(wanted):
        raise OutputError(str(wanted[-1]), "is two results at once; name two files")

    if plan:
        _show_plan(report.asking(request), report, progress)
        context.exit(NO_AUDIT)
    with _resuming(context, resume, progress):
        done = audit_file(report.asking(request), progress.step)
    with progress.step("reporting") as share:
        subject = done.subject
        provenance = clock.provenance(request, subject.pack, subject.knowledge, subject.table)
        command = repair_command(request, subject)
        (share or nobody_hears)(1, 3, "parts")
        document = audit_document(
            done.audit, done.decision, provenance, purpose, command, draws_tree=report.draws
        )
        (share or nobody_hears)(2, 3, "parts")
        with _posterior(done.audit, posterior_path) as (large, said):
            for line in said:
                progress.say(line)
            document = document.model_copy(update={"warnings": (*said, *document.warnings)})
            files = report.files(document, known_as(request.model))
            if new_baseline is not None:
                files[new_baseline] = _baseline(request, done)
            write_files(files, large)
    shown = report.reader_document(document)
    steps = audit_steps(request, done, shown, command, report.paths)
    summary = summary_lines(shown, steps, done.audit.full.evidence.secret_name)
    report.show(shown, summary, known_as(request.model))
    context.exit(EXITS[done.decision.verdict])


def _resuming(
    context: click.Context, folder: Path | None, progress: ProgressPrinter
) -> AbstractContextManager[None]:
    """Keep what is solved in a folder meanwhile, if there is to be one."""
    if folder is None:
        context.meta[RESUMED] = ""
        return nullcontext()
    from treewarden.terminal.progress import resuming  # for a folder only

    return resuming(context, folder, progress)


def _baseline(request: Request, done: JudgedAudit) -> bytes:
    """Return the baseline of an audit as the bytes of a file."""
    from treewarden.jobs.exceptions import baseline_of, name_of  # for baselines only
    from treewarden.policies.exceptions.baseline import write_baseline  # as above

    return write_baseline({name_of(request): baseline_of(done.audit, done.decision, request)})


@contextmanager
def _posterior(
    audit: Audit, path: Path | None
) -> Iterator[tuple[dict[Path, Path], tuple[str, ...]]]:
    """Yield the file of the estimate by the path that it is to have; where there is none, nothing, and why."""
    if path is None:
        yield {}, ()
        return
    from treewarden.jobs.posterior import write_posterior  # as above

    with beside(path) as written:
        why = write_posterior(audit, path, written)
        if why is None:
            yield {path: written}, ()
        else:
            yield {}, (f"--posterior: {path} is not written: {why.reason}",)


def _show_plan(request: Request, report: Reporting, progress: ProgressPrinter) -> None:
    """Print the plan of an audit whose reports are to have these forms: as JSON where that was to go to stdout."""
    from treewarden.jobs.planning import plan_lines, plan_of  # for a plan only

    forms = [form for form in report.forms if form != ON_STDOUT]
    plan = plan_of(request, forms[0] if forms else ON_STDOUT, progress.step)
    if report.on_stdout == "json":
        click.echo(as_json(plan.document), nl=False)
    else:
        for line in plan_lines(plan):
            click.echo(printable(line))
    click.echo(
        "no audit was performed: --plan only estimates the cost; leave it out to audit", err=True
    )


COMMAND = audit_command
