"""``treewarden audit``: what does a published tree give away?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from treewarden.audit.result import Audit
from treewarden.commands._common_options import FILE
from treewarden.commands._options import PURPOSE, RESUME, request_of, request_options_alone
from treewarden.commands._planning import show_plan
from treewarden.commands._reporting import OutputRequest, report_options, reporting
from treewarden.jobs.auditing import CommandClock, audit_file, repair_command
from treewarden.jobs.exceptions import baseline_of, name_of
from treewarden.jobs.inputs import known_as
from treewarden.jobs.posterior import check_suffix, write_posterior
from treewarden.policies.exceptions.baseline import write_baseline
from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.building.build import audit_document
from treewarden.terminal.exits import EXITS, NO_AUDIT
from treewarden.terminal.outputs import (
    beside,
    check_apart,
    check_file,
    check_no_input,
    real,
    write_files,
)
from treewarden.terminal.progress import ProgressPrinter
from treewarden.terminal.resuming import resuming


@click.command("audit")
@request_options_alone
@report_options("--out")
@PURPOSE
@click.option(
    "--posterior",
    "posterior_path",
    type=FILE,
    help="Also write the estimate: CSV or Parquet by suffix, one row per profile and class.",
)
@click.option(
    "--waivers",
    type=FILE,
    help="A TOML file of what is accepted, by whom and until when (see docs/waivers.md).",
)
@click.option(
    "--baseline",
    type=FILE,
    help="A file from --write-baseline: what it knows of this model, and is no worse, does not count.",
)
@click.option(
    "--write-baseline",
    "new_baseline",
    type=FILE,
    help="Also write what breaks the policy now, except what is waived; confidential like a report.",
)
@RESUME
@click.option(
    "--plan",
    is_flag=True,
    help="Say what the audit has to deal with and what it is expected to take, as text or with --format json; "
    "nothing is solved, judged or written, and the exit code is 4.",
)
@click.pass_context
def audit_command(
    context: click.Context,
    /,
    formats: tuple[OutputRequest, ...],
    folder: Path | None,
    redacted: bool,
    purpose: str,
    posterior_path: Path | None,
    waivers: Path | None,
    baseline: Path | None,
    new_baseline: Path | None,
    resume: Path | None,
    plan: bool,
    quiet: bool,
    **_: Any,  # noqa: ANN401  # the shared options; request_of reads them from the context
) -> None:
    """Audit a tree that is about to be published.

    MODEL is the file as it would be published, --data the table that it was trained on. With
    --no-table only what the file itself says is judged.

    Of several models, in the order of their publication, the last is the one that is about to be
    published, and all together are judged: people whom they share, and who joined or left.
    """
    clock, progress = CommandClock(), ProgressPrinter(quiet)
    request = replace(request_of(context), waivers=waivers, baseline=baseline)
    report = reporting("audit", formats, folder, is_redacted=redacted)
    if posterior_path is not None:
        check_suffix(posterior_path)
        check_file(posterior_path)
    if new_baseline is not None:
        check_file(new_baseline)
    wanted = (*report.paths, *(path for path in (posterior_path, new_baseline) if path))
    check_apart(wanted)
    check_no_input(wanted, request.files)
    if len({real(path) for path in wanted}) < len(wanted):
        raise OutputError(str(wanted[-1]), "is two results at once; name two files")

    if plan:
        show_plan(report.asking(request), report, progress)
        context.exit(NO_AUDIT)
    with resuming(context, resume, progress):
        done = audit_file(report.asking(request), progress.step)
    with progress.step("reporting"):
        provenance = clock.provenance(
            request, done.subject.pack, done.subject.knowledge, done.subject.table
        )
        command = repair_command(request, done.subject)
        document = audit_document(done.audit, done.decision, provenance, purpose, command)
        with _posterior(done.audit, posterior_path) as (large, said):
            for line in said:
                progress.say(line)
            document = document.model_copy(update={"warnings": (*said, *document.warnings)})
            files = report.files(document, known_as(request.model))
            if new_baseline is not None:
                model_baselines = {name_of(request): baseline_of(done.audit, done.decision)}
                files[new_baseline] = write_baseline(model_baselines)
            write_files(files, large)
    report.show(document, known_as(request.model))
    context.exit(EXITS[done.decision.verdict])


@contextmanager
def _posterior(
    audit: Audit, path: Path | None
) -> Iterator[tuple[dict[Path, Path], tuple[str, ...]]]:
    """Yield the file of the estimate by the path that it is to have; where there is none, nothing, and why."""
    if path is None:
        yield {}, ()
        return
    with beside(path) as written:
        why = write_posterior(audit, path, written)
        if why is None:
            yield {path: written}, ()
        else:
            yield {}, (f"--posterior: {path} is not written: {why.reason}",)


COMMAND = audit_command
