"""``treewarden policy``: policies read, explained, tested and compared, as code is."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import FILE, on_a_cluster
from treewarden.jobs.policies.testing import CaseResults, cases_beside, read_cases, run_cases
from treewarden.policies.comparing import Strictness, compared
from treewarden.policies.explain.sentences import difference_text, explained, toml
from treewarden.policies.importing.acro import imported
from treewarden.policies.pack import json_schema, load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.reports.document.words import counted, printable, wrapped
from treewarden.terminal.exits import FAIL
from treewarden.terminal.outputs import check_file, check_new, write_files
from treewarden.terminal.progress import ProgressPrinter

PACK = click.argument("pack", metavar="PACK|FILE")


@click.group("policy")
def policy_group() -> None:
    """Read, explain, test and compare policies.

    A PACK is one that ships, by name, or the path of a TOML file.
    """


@policy_group.command("list")
def list_command() -> None:
    """List the policies that ship."""
    packs = [load_pack(name) for name in shipped_packs()]
    width = max(len(pack.name) for pack in packs)
    for pack in packs:
        clauses = counted(len(pack.clauses), "clause", "clauses")
        click.echo(f"{pack.name:{width}}  {pack.version}  {pack.title} ({clauses})")


@policy_group.command("show")
@PACK
def show_command(pack: str) -> None:
    """Print a policy as TOML, with all that it takes from others put in."""
    click.echo(toml(load_pack(pack)), nl=False)


@policy_group.command("check")
@click.argument("packs", metavar="PACK|FILE...", nargs=-1, required=True)
def check_command(packs: tuple[str, ...]) -> None:
    """Read policies whole and say whether each is sound; the first that is not ends it."""
    for name in packs:
        pack = load_pack(name)
        clauses = counted(len(pack.clauses), "clause", "clauses")
        click.echo(f"{name}: {pack.name} {pack.version}, {clauses}, sha256 {pack.digest[:16]}")


@policy_group.command("test")
@PACK
@click.option(
    "--cases",
    type=FILE,
    help="A TOML file with the cases.  [default: NAME.cases.toml beside the policy's file]",
)
@on_a_cluster
@click.option("-q", "--quiet", is_flag=True, help="Say nothing of progress.")
@click.pass_context
def test_command(context: click.Context, pack: str, cases: Path | None, quiet: bool) -> None:
    """Run the cases beside a policy: models, and what each clause must say of them.

    Exits with 1 where one comes out otherwise. Says which clause no case ever fails.
    """
    read = load_pack(pack)
    path = cases_beside(pack) if cases is None else cases
    case_results = run_cases(read, read_cases(path, read), path.parent, ProgressPrinter(quiet).step)
    _tell(case_results)
    context.exit(0 if case_results.is_as_expected else FAIL)


def _tell(found: CaseResults) -> None:
    for each in found.tried:
        click.echo(f"{'differs' if each.differs else 'ok':7}  {printable(each.name)}")
        for line in each.differs:
            click.echo("\n".join(wrapped(line, "         ", "           ")))
    if found.never_failed:
        names = ", ".join(found.never_failed)
        click.echo(
            "\n".join(
                wrapped(
                    f"No case ever fails: {names}. A clause that was never seen to fail may never do."
                )
            )
        )


@policy_group.command("explain")
@PACK
def explain_command(pack: str) -> None:
    """Print each clause as a sentence, with what breaks it."""
    click.echo(explained(load_pack(pack)), nl=False)


@policy_group.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--tighten-only",
    is_flag=True,
    help="Exit with 1 where NEW is looser than OLD anywhere, or cannot be compared.",
)
@click.pass_context
def diff_command(context: click.Context, old: str, new: str, tighten_only: bool) -> None:
    """Say clause by clause which of two policies is stricter."""
    pack, two = load_pack(old), load_pack(new)
    clause_differences = compared(pack, two)
    for clause_difference in clause_differences:
        click.echo("\n".join(wrapped(difference_text(clause_difference), "", "  ")))
    if not clause_differences:
        click.echo("The policies ask for the same.")
    is_loose = any(
        each.strictness in (Strictness.LOOSER, Strictness.DIFFERENT) for each in clause_differences
    )
    context.exit(FAIL if tighten_only and is_loose else 0)


@policy_group.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of policies.

    An editor that knows TOML finds it by a first line such as ``#:schema ./pack.schema.json``.
    """
    click.echo(json_schema().decode("utf-8"), nl=False)


@policy_group.command("import")
@click.argument("file", type=FILE)
@click.option("-o", "--output", type=FILE, help="The TOML file to write.  [default: stdout]")
@click.option("--force", is_flag=True, help="Replace the output where it is there already.")
def import_command(file: Path, output: Path | None, force: bool) -> None:
    """Turn the risk appetite of an ACRO project (YAML) into a policy."""
    data = imported(file.read_bytes(), file.name)
    if output is None:
        click.echo(data.decode("utf-8"), nl=False)
        return
    check_file(output)
    check_new(output, force)
    write_files({output: data})
    click.echo(str(output))


COMMAND = policy_group
