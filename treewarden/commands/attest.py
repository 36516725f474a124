"""``treewarden attest``: an audit where the table is, and its verdict signed for those who may not see the table."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import click

from treewarden.commands._common_options import FILE, FORCE, Day, options_record
from treewarden.commands._options import request_of, request_options
from treewarden.jobs.attesting.attesting import attestation, salt, unstated_options
from treewarden.jobs.attesting.keys import (
    PASSPHRASE,
    key_id,
    make_pair,
    private_key,
    read_key_file,
)
from treewarden.jobs.attesting.verification_summary import ml_bom, verification_summary
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import CommandClock, JudgedAudit, audit_file
from treewarden.jobs.inputs import ModelBytes
from treewarden.ppdm_models.files.load import read_bytes
from treewarden.reports.building.build import audit_document
from treewarden.reports.document.document import Document, summary_of
from treewarden.reports.document.words import wrapped
from treewarden.reports.renderers import renderer
from treewarden.terminal.exits import EXITS
from treewarden.terminal.outputs import (
    JSON_ENDINGS,
    check_ending,
    check_file,
    check_new,
    check_no_input,
    real,
    write_files,
)
from treewarden.terminal.progress import ProgressPrinter


def _make_key(context: click.Context, _: click.Parameter, path: Path | None) -> None:
    """Make a pair of keys, and nothing else."""
    if path is None or context.resilient_parsing:
        return
    public = make_pair(path, os.environ.get(PASSPHRASE))
    secret = "" if os.environ.get(PASSPHRASE) else f", not encrypted ({PASSPHRASE} is not set)"
    click.echo(f"{path}: the private key{secret}; keep it where the table is")
    click.echo(f"{public}: the public key; give it to those who check")
    context.exit(0)


@click.command("attest")
@click.option(
    "--make-key",
    type=FILE,
    metavar="KEYFILE",
    is_eager=True,
    expose_value=False,
    callback=_make_key,
    help="Make a private key KEYFILE and its public key KEYFILE.pub, and exit. Existing keys are not overwritten.",
)
@request_options
@click.option(
    "--key",
    type=FILE,
    required=True,
    help=f"The private key (PEM). A passphrase is read from {PASSPHRASE}.",
)
@click.option("-o", "--output", type=FILE, required=True, help="The file for the attestation.")
@click.option("--report", type=FILE, help="Also write the report as JSON. Keep it with the table.")
@click.option(
    "--vsa",
    type=FILE,
    help="Also write the signed verdict in the format of supply-chain tools (in-toto, SLSA VSA).",
)
@click.option(
    "--ml-bom",
    type=FILE,
    help="Also write a CycloneDX 1.7 bill of materials: the model, the verdict and the assumptions about the "
    "adversary. Not signed.",
)
@click.option(
    "--expires",
    type=Day(),
    metavar="YYYY-MM-DD",
    help="The first day (UTC) on which the attestation is no longer valid.",
)
@FORCE
@click.pass_context
def attest_command(context: click.Context, /, **_: Any) -> None:  # noqa: ANN401  # read from the context
    """Audit a model on the machine that holds its table, and sign the verdict for people without the table.

    The attestation contains the digest of the model, the policy, what the adversary was assumed to know, and the
    verdict of each check. It contains no counts and nothing from the table. The exit code is that of the audit.
    """
    clock, progress = CommandClock(), ProgressPrinter(context.params["quiet"])
    request, options = request_of(context), options_record(AttestOptions, context)
    request = replace(request, key=None)  # --key is the private key here, and names no column
    options.check(request)
    secret = private_key(read_key_file(options.key), str(options.key), os.environ.get(PASSPHRASE))
    expires = options.expiry(clock)
    assert isinstance(request.model, Path)
    read = ModelBytes(read_bytes(request.model), request.model.name)
    request = replace(
        request, model=read
    )  # what is signed is what was read, whatever the file is by then
    done = audit_file(request, progress.step)
    with progress.step("signing"):
        provenance = clock.provenance(
            request, done.subject.pack, done.subject.knowledge, done.subject.table
        )
        provenance = provenance.model_copy(update={"salt": salt()})
        document = audit_document(done.audit, done.decision, provenance)
        written = None if options.report is None else renderer("json").render(document)
        signed = attestation(
            done.subject,
            done.decision,
            provenance.model,
            secret,
            report=written,
            issued=clock.created,
            expires=expires,
            candidates=provenance.candidates,
            claims=document.claims,
        )
        files = {options.output: signed}
        files |= _for_others(options, done, document, signed, secret, clock)
        if options.report is not None and written is not None:
            files[options.report] = written
        write_files(files)
    click.echo(f"{document.verdict}: {document.headline}")
    for line in wrapped(summary_of(document), "  "):
        click.echo(line)
    click.echo(f"  {options.output}, signed by {key_id(secret.public_key())}")
    for path in (options.report, options.vsa, options.ml_bom):
        if path is not None:
            click.echo(f"  {path}")
    context.exit(EXITS[done.decision.verdict])


def _for_others(
    options: AttestOptions,
    done: JudgedAudit,
    document: Document,
    signed: bytes,
    secret: Any,  # noqa: ANN401  # a private key, see keys
    clock: CommandClock,
) -> dict[Path, bytes]:
    """Return what other tools than treewarden read, by the path that each goes to."""
    files: dict[Path, bytes] = {}
    is_file, model = not options.model.is_dir(), document.provenance.model
    if options.vsa is not None:
        files[options.vsa] = verification_summary(
            done.decision, model, signed, secret, issued=clock.created, is_file=is_file
        )
    if options.ml_bom is not None:
        files[options.ml_bom] = ml_bom(
            done.subject,
            done.decision,
            model,
            issued=clock.created,
            is_file=is_file,
            claims=document.claims,
        )
    return files


@dataclass(frozen=True, slots=True)
class AttestOptions:
    """What the command is asked for beside what an audit is; a field has the name of its parameter."""

    model: Path
    key: Path
    output: Path
    report: Path | None
    vsa: Path | None
    ml_bom: Path | None
    expires: datetime | None
    force: bool

    def check(self, request: Request) -> None:
        """Check before any work that what is to be written can be.

        Raises:
            OutputError: a file cannot be written, is there already, or is an input.
            click.UsageError: two results have one path, or what was asked for cannot be attested.
        """
        for unstated in unstated_options(request):
            problem = f"an attestation cannot state it; {unstated.instead}"
            raise click.UsageError(f"--{unstated.flag}: {problem}")
        beside = (self.report, self.vsa, self.ml_bom)
        outputs = (self.output, *(path for path in beside if path is not None))
        for path in outputs:
            check_file(path)
            check_new(path, self.force)
        if len({real(path) for path in outputs}) < len(outputs):
            raise click.UsageError(
                "two of --output, --report, --vsa and --ml-bom name the same file; give each a file of its own"
            )
        check_no_input(outputs, (*request.paths, self.key))
        for path in outputs:
            check_ending(path, "JSON", JSON_ENDINGS)
        if self.vsa is not None and self.expires is not None:
            problem = "a verification summary has no end; leave out --vsa or --expires"
            raise click.UsageError(problem)

    def expiry(self, clock: CommandClock) -> datetime | None:
        """Return when the attestation expires, in universal time.

        Raises:
            click.UsageError: that day is past.
        """
        if self.expires is None:
            return None
        end = datetime.combine(self.expires.date(), time(), UTC)
        if end <= clock.created:
            raise click.UsageError(
                f"--expires {self.expires:%Y-%m-%d} is in the past; give a day in the future"
            )
        return end


COMMAND = attest_command
