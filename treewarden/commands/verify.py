"""``treewarden verify``: is a report true of these files, is an attestation by this key and of this model?"""

from __future__ import annotations

import hashlib
from pathlib import Path

import click

from treewarden.commands._common_options import FILE, QUIET, on_a_cluster
from treewarden.jobs.attesting.alike import ComparedItem, ComparisonOutcome, overall
from treewarden.jobs.attesting.checking import Attested, CheckRequest, answered, read_attestation
from treewarden.jobs.attesting.comparing import read_report, repeated
from treewarden.jobs.attesting.keys import (
    AttestationError,
    OtherModelError,
    public_key,
    read_key_file,
)
from treewarden.policies.pack import load_pack
from treewarden.reports.document.words import printable
from treewarden.terminal.progress import ProgressPrinter

EXITS = {ComparisonOutcome.AGREES: 0, ComparisonOutcome.DIFFERS: 1, ComparisonOutcome.OPEN: 3}


@click.command("verify")
@click.argument("report", type=FILE, required=False)
@click.option("--model", type=FILE, required=True, help="The model that was audited.")
@click.option("--data", type=FILE, help="The table of the audit.")
@click.option(
    "--policy",
    metavar="NAME|FILE",
    help="The policy of the audit.  [default: the built-in policy that the report names]",
)
@click.option("--sensitive", metavar="COLUMN", help="The sensitive column, if it was renamed.")
@click.option("--dictionary", type=FILE, help="The --dictionary of the audit, if one was given.")
@click.option("--attestation", type=FILE, help="Check this attestation. No table is needed.")
@click.option(
    "--key", type=FILE, help="With --attestation: the public key of the signer. Required."
)
@on_a_cluster
@QUIET
@click.pass_context
def verify_command(
    context: click.Context,
    /,
    report: Path | None,
    model: Path,
    data: Path | None,
    policy: str | None,
    sensitive: str | None,
    dictionary: Path | None,
    attestation: Path | None,
    key: Path | None,
    quiet: bool,
) -> None:
    """Repeat the audit of a report, or check the signature of an attestation.

    For reviewers. REPORT is a report in JSON. With --data, its audit is repeated.

    With --attestation, the command checks the signature, the model and the date of the attestation. It also checks the
    policy if you add --policy. If you add REPORT, it checks that report and attestation belong together.
    """
    if (attestation is None) != (key is None):
        raise click.UsageError(
            "--attestation needs the signer's public key (--key FILE), and "
            "--key needs --attestation FILE"
        )
    if report is None and attestation is None:
        raise click.UsageError("name a REPORT, or give --attestation and --key")
    exits = [0]
    if attestation is not None and key is not None:
        exits.append(_attested(attestation, key, model, policy, report))
    if report is not None and (attestation is None or data is not None):
        progress = ProgressPrinter(quiet)
        compared_items = list(
            repeated(
                read_report(report),
                model,
                data,
                policy=policy,
                sensitive=sensitive,
                step=progress.step,
                dictionary=dictionary,
            )
        )
        exits.append(_print_comparison(compared_items))
    context.exit(1 if 1 in exits else max(exits))


def _attested(
    attestation: Path, key: Path, model: Path, policy: str | None, report: Path | None
) -> int:
    """Print whether an attestation holds; return the exit code."""
    envelope, public = read_attestation(attestation), read_key_file(key)
    public_key(
        public, str(key)
    )  # what is no key leaves nothing to check: that is no attestation that fails
    question = CheckRequest(None if policy is None else load_pack(policy))
    try:
        held = answered(envelope, public, model, question, where=str(attestation))
        if report is not None:
            _check_report(held, report)
    except AttestationError as error:
        click.echo(f"not valid: {printable(str(error))}")
        return 1
    predicate = held.predicate
    ends = f", until {predicate.expires}" if predicate.expires else ""
    click.echo(f"valid: {attestation} is signed by {held.key}")
    lines = [
        f"model     {model.name}",
        f"verdict   {predicate.verdict} (required checks: severity {predicate.fail_on})",
        f"policy    {predicate.policy.name} {predicate.policy.version}, {predicate.policy.sha256}",
        f"issued    {predicate.issued}{ends}, by treewarden {predicate.version}",
    ]
    assumed = predicate.knowledge.model_dump(exclude_defaults=True, exclude={"adversaries"}).items()
    known = (f"{name} = {value}" for name, value in assumed if value not in (None, False, 0))
    lines.append(f"assumed   {', '.join(known)}")
    for adversary in predicate.knowledge.adversaries:
        knows = ", ".join(
            [*adversary.knows, *(["what the model predicts"] if adversary.target else [])]
        )
        lines.append(f"asked     about “{adversary.name}”, who knows {knows}")
    if predicate.claim is not None:
        lines.append(f"claim     {predicate.claim.outcome}: {predicate.claim.words}")
    if report is not None:
        lines.append(f"report    {report.name}, exactly this file")
    about = ((clause, f" (of {clause.of})" if clause.of else "") for clause in predicate.clauses)
    lines += [
        f"{attested_clause.verdict:9} {attested_clause.clause}{of}" for attested_clause, of in about
    ]
    for line in lines:
        click.echo(f"  {printable(line)}")
    return 0


def _check_report(attested: Attested, report: Path) -> None:
    read_report(report)
    sha256, here = attested.predicate.report, hashlib.sha256(report.read_bytes()).hexdigest()
    if sha256 is None:
        raise OtherModelError(attested.where, "the attestation names no report; leave out --report")
    if sha256.sha256 != here:
        problem = f"the attestation is for another report than {report.name}"
        raise OtherModelError(attested.where, f"{problem}; give the report that it was made with")


def _print_comparison(items: list[ComparedItem]) -> int:
    """Print what differs and what could not be told; return the exit code."""
    for compared_item in items:
        if compared_item.outcome is not ComparisonOutcome.AGREES:
            more = f": {compared_item.detail}" if compared_item.detail else ""
            click.echo(
                f"{compared_item.outcome.value}: {printable(compared_item.name)}{printable(more)}"
            )
    agrees = [each for each in items if each.outcome is ComparisonOutcome.AGREES]
    told = [each for each in agrees if each.detail and not each.name.startswith("reading ")]
    click.echo(f"{len(agrees)} of {len(items)} items agree{', among them:' if told else ''}")
    for compared_item in told:
        click.echo(f"  {printable(compared_item.name)}: {printable(compared_item.detail)}")
    return EXITS[overall(items)]


COMMAND = verify_command
