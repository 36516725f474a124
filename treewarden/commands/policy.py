"""``treewarden policy``: policies read, explained, tested and compared, as code is."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import FILE, on_a_cluster
from treewarden.jobs.policies.testing import CaseResults, cases_beside, read_cases, run_cases
from treewarden.jobs.typed_commands import shell_command
from treewarden.policies.comparing import Strictness, compared
from treewarden.policies.explain.sentences import difference_text, explained, toml
from treewarden.policies.importing.acro import imported
from treewarden.policies.pack import json_schema, load_pack
from treewarden.policies.shipped import packs_of_tables, shipped_packs
from treewarden.reports.document.words import counted, printable, wrapped
from treewarden.terminal.exits import FAIL, with_coloured_verdict
from treewarden.terminal.outputs import (
    TOML_ENDINGS,
    NextStep,
    check_ending,
    check_file,
    check_new,
    step_lines,
    write_files,
)
from treewarden.terminal.progress import ProgressPrinter

PACK = click.argument("pack", metavar="NAME|FILE")


@click.group("policy")
def policy_group() -> None:
    """Read, explain, test and compare policies, for people who set or review the limits.

    Give either the NAME of a built-in policy ('treewarden policy list') or a TOML FILE.
    """


@policy_group.command("list")
def list_command() -> None:
    """List the built-in policies."""
    packs = [load_pack(name) for name in sorted((*shipped_packs(), *packs_of_tables()))]
    width = max(len(pack.name) for pack in packs)
    for pack in packs:
        clauses = counted(len(pack.clauses), "check", "checks")
        click.echo(f"{pack.name:{width}}  {pack.version}  {pack.title} ({clauses})")


@policy_group.command("show")
@PACK
def show_command(pack: str) -> None:
    """Print a policy as TOML, with all that it inherits."""
    click.echo(toml(load_pack(pack)), nl=False)


@policy_group.command("check")
@click.argument("packs", metavar="NAME|FILE...", nargs=-1, required=True)
def check_command(packs: tuple[str, ...]) -> None:
    """Validate policies; stop at the first one that is not valid."""
    for name in packs:
        pack = load_pack(name)
        clauses = counted(len(pack.clauses), "check", "checks")
        click.echo(
            f"{name}: valid ({pack.name} {pack.version}, {clauses}, sha256 {pack.digest[:16]})"
        )


@policy_group.command("test")
@PACK
@click.option(
    "--cases",
    type=FILE,
    help="A TOML file with the cases.  [default: NAME.cases.toml next to the policy]",
)
@on_a_cluster
@click.option("--verbose", is_flag=True, help="List the cases that came out as expected, too.")
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
@click.pass_context
def test_command(
    context: click.Context, pack: str, cases: Path | None, verbose: bool, quiet: bool
) -> None:
    """Run the test cases of a policy.

    A case is a model with the expected verdict of each check.

    The exit code is 1 if the result of a case is not the expected one. The output also lists each check that passes
    in every case, and is therefore not tested.
    """
    read = load_pack(pack)
    path = cases_beside(pack) if cases is None else cases
    case_results = run_cases(read, read_cases(path, read), path.parent, ProgressPrinter(quiet).step)
    _tell(case_results, pack, path, is_verbose=verbose)
    context.exit(0 if case_results.is_as_expected else FAIL)


def _tell(results: CaseResults, pack: str, path: Path, *, is_verbose: bool) -> None:
    """Print the outcome of all cases, those that differ, and what to do about them."""
    differing = [case for case in results.tried if case.differs]
    total = counted(len(results.tried), "case", "cases")
    verdict = "PASS" if results.is_as_expected else "FAIL"
    if differing:
        said = f"{len(differing)} of {total} came out differently than expected"
    else:
        said = f"{len(results.tried)} of {total} came out as expected"
    click.echo(with_coloured_verdict(f"{verdict}: {said}."))
    for case in results.tried if is_verbose else differing:
        click.echo(f"  {'differs' if case.differs else 'ok':7}  {printable(case.name)}")
        for line in case.differs:
            click.echo("\n".join(wrapped(line, "           ", "             ")))
    if results.never_failed:
        names = ", ".join(results.never_failed)
        said = f"No test case makes these checks fail, so they are not tested yet: {names}. "
        said += "For each of them, add a case with a model that must fail it."
        click.echo("\n".join(wrapped(said)))
    if differing:
        step = NextStep(
            f"Correct the policy, or the cases in {path}. Read what each check requires:",
            shell_command("treewarden", "policy", "explain", pack),
        )
        click.echo("\n".join(step_lines([step])))


@policy_group.command("explain")
@PACK
def explain_command(pack: str) -> None:
    """Explain each check of a policy in plain words."""
    click.echo(explained(load_pack(pack)), nl=False)


@policy_group.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--tighten-only",
    is_flag=True,
    help="Exit with 1 if NEW is looser than OLD anywhere, or cannot be compared.",
)
@click.pass_context
def diff_command(context: click.Context, old: str, new: str, tighten_only: bool) -> None:
    """Compare two policies, check by check: which one is stricter?"""
    pack, two = load_pack(old), load_pack(new)
    clause_differences = compared(pack, two)
    for clause_difference in clause_differences:
        click.echo("\n".join(wrapped(difference_text(clause_difference), "", "  ")))
    if not clause_differences:
        click.echo("Both policies require the same.")
    is_loose = any(
        each.strictness in (Strictness.LOOSER, Strictness.DIFFERENT) for each in clause_differences
    )
    context.exit(FAIL if tighten_only and is_loose else 0)


@policy_group.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of policies, for text editors.

    Save it as pack.schema.json next to your policy. A TOML editor uses it if the first line of the policy is:
    #:schema ./pack.schema.json
    """
    click.echo(json_schema().decode("utf-8"), nl=False)


@policy_group.command("import")
@click.argument("file", type=FILE)
@click.option("-o", "--output", type=FILE, help="The TOML file to write.  [default: stdout]")
@click.option("--force", is_flag=True, help="Overwrite an existing output file.")
def import_command(file: Path, output: Path | None, force: bool) -> None:
    """Convert the limits of an ACRO configuration into a policy.

    ACRO checks the outputs of research environments. The file is its “risk appetite” in YAML.
    """
    if output is not None:
        check_file(output)
        check_ending(output, "a policy", TOML_ENDINGS)
        check_new(output, force)
    data = imported(file.read_bytes(), file.name)
    if output is None:
        click.echo(data.decode("utf-8"), nl=False)
        return
    write_files({output: data})
    click.echo(str(output))


COMMAND = policy_group
