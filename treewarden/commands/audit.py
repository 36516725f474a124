"""``treewarden audit``: what does a published tree give away?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from audit.evidence import Evidence
from audit.reading import Undetermined
from reports.building.build import audit_document
from treewarden.commands._options import FILE, PURPOSE, request_of, request_options
from treewarden.commands._reporting import report_options, reporting
from treewarden.jobs.auditing import audit_file
from treewarden.jobs.posterior_file import check_suffix, posterior_file
from treewarden.jobs.provenance import Clock
from treewarden.terminal.exits import EXITS
from treewarden.terminal.outputs import check_file, check_no_input, write_files
from treewarden.terminal.progress import Progress


@click.command("audit")
@request_options
@report_options("--out")
@PURPOSE
@click.option(
    "--posterior",
    "posterior_path",
    type=FILE,
    help="Also write the estimate: CSV or Parquet by suffix, one row per profile and class.",
)
@click.pass_context
def audit_command(
    context: click.Context,
    /,
    formats: tuple[str, ...],
    folder: Path | None,
    redacted: bool,
    purpose: str,
    posterior_path: Path | None,
    quiet: bool,
    **_: Any,  # noqa: ANN401  # the shared options; request_of reads them from the context
) -> None:
    """Audit a tree that is about to be published.

    MODEL is the file as it would be published, --data the table that it was trained on.
    """
    clock, progress, request = Clock(), Progress(quiet), request_of(context)
    report = reporting("audit", formats, folder, is_redacted=redacted)
    if posterior_path is not None:
        check_suffix(posterior_path)
        check_file(posterior_path)
    wanted = (*report.paths, *([posterior_path] if posterior_path else []))
    check_no_input(wanted, request.files)

    done = audit_file(report.asking(request), progress.step)
    with progress.step("reporting"):
        provenance = clock.provenance(request, done.subject.pack)
        document = audit_document(done.audit, done.decision, provenance, purpose)
        files = report.files(document)
        if posterior_path is not None:
            files |= _posterior(done.audit.full.evidence, posterior_path, progress)
        write_files(files)
    report.show(document)
    context.exit(EXITS[done.decision.verdict])


def _posterior(evidence: Evidence, path: Path, progress: Progress) -> dict[Path, bytes]:
    posterior = evidence.posterior
    if isinstance(posterior, Undetermined):
        progress.say(f"{path} is not written: {posterior.reason}")
        return {}
    return {path: posterior_file(evidence, posterior, path)}


COMMAND = audit_command
