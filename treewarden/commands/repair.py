"""``treewarden repair``: what is the smallest change that lets a tree pass?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from audit.run import Level, ablation
from ppdm_models.convert import MODELS
from reports.build import repair_document
from treewarden.exits import EXITS, PASS
from treewarden.options import FILE, request_of, request_options
from treewarden.outputs import check_file, check_new, check_no_input, write_files
from treewarden.progress import Progress
from treewarden.provenance import Clock
from treewarden.repairing import Repaired, repair_file
from treewarden.reporting import report_options, reporting
from treewarden.subject import Subject, read_subject


@click.command("repair")
@request_options
@click.option("-o", "--output", type=FILE, required=True, help="The file for the repaired model.")
@click.option("--force", is_flag=True, help="Replace the output file if it is there already.")
@click.option(
    "--to",
    "target",
    type=click.Choice(MODELS),
    help="Write the repaired model in this format.  [default: the one that MODEL came in]",
)
@report_options("--report")
@click.pass_context
def repair_command(
    context: click.Context,
    /,
    output: Path,
    force: bool,
    target: str | None,
    formats: tuple[str, ...],
    folder: Path | None,
    quiet: bool,
    **_: Any,  # noqa: ANN401  # the shared options; request_of reads them from the context
) -> None:
    """Change a tree that fails as little as its policy allows.

    Each change is audited again like the original. The cheapest one that passes is written in the format that MODEL
    came in, unless --to says another; where MODEL passes already (exit code 0), or nothing passes (1 or 3), no model is
    written.
    """
    clock, progress, request = Clock(), Progress(quiet), request_of(context)
    report = reporting("repair", formats, folder)
    check_file(output)
    inputs = (request.model, request.data, request.knowledge, Path(request.policy))
    check_no_input((*report.paths, output), inputs)
    check_new(output, force)

    subject = read_subject(request, progress)
    with progress.step(f"repairing: {subject.auditing}, for each change"):
        repaired = repair_file(subject, output.name, target)
    with progress.step("reporting"):
        found = repaired.repair
        provenance = clock.provenance(request, subject.pack)
        document = repair_document(
            found, provenance, _levels(subject, repaired) if report.draws else ()
        )
        files = report.files(document)
        if repaired.file is not None:
            files[output] = repaired.file
        write_files(files)
    report.show(document)
    progress.say(
        f"written: {output}" if repaired.file else f"{output} is not written: {found.message}"
    )
    context.exit(PASS if repaired.file else EXITS[found.decision.verdict])


def _levels(subject: Subject, repaired: Repaired) -> tuple[Level, ...]:
    """Return what each kind of information adds, for the tree that the report is about."""
    evidence = repaired.audit.evidence
    return ablation(evidence.tree, evidence.population, subject.knowledge, subject.options)


COMMAND = repair_command
