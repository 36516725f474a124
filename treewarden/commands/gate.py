"""``treewarden gate``: may all models of this repository be published?

They are audited here, or a service is asked about a release (``--server``).
"""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from treewarden.commands._common_options import (
    FILE,
    QUIET,
    Number,
    WholeNumber,
    judgment_flag,
    on_a_cluster,
    options_record,
)
from treewarden.commands._reporting import (
    ON_STDOUT,
    VERBOSE,
    Forms,
    OutputRequest,
    form_option,
    forms_of,
)
from treewarden.jobs.gate.config import (
    NAME,
    Configuration,
    find_configuration,
    path_from_here,
    read_configuration,
)
from treewarden.jobs.gate.gate_job import Wish, cache_folder
from treewarden.jobs.gate.gating import Gated, gate
from treewarden.jobs.gate.models import GateModel, models_of
from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.files.private import own_folder
from treewarden.reports.document.gate import Outcome
from treewarden.reports.document.words import counted, printable
from treewarden.terminal.exits import FAIL, NO_AUDIT, PASS, RESUMED, UNDETERMINED
from treewarden.terminal.outputs import (
    JSON_ENDINGS,
    check_apart,
    check_ending,
    check_file,
    check_no_input,
    write_files,
)
from treewarden.terminal.progress import ProgressPrinter

Command = Callable[..., Any]
WAIT_SECONDS = 600.0
DIGEST = re.compile(r"[0-9a-f]{64}")
REMOTE = "treewarden.jobs.gate.remote"
"""Loaded when a server is asked: no other gate needs what talks to one."""


def remote_options(command: Command) -> Command:
    """Add the options that ask a service."""
    for option in reversed(
        (
            click.option(
                "--server",
                metavar="URL",
                help="Ask this treewarden service for the verdict, and audit nothing here.",
            ),
            click.option(
                "--sha256",
                metavar="DIGEST",
                help="The SHA-256 of the file, for --server, if the file itself is not here.",
            ),
            click.option(
                "--release",
                metavar="ID",
                help=(
                    "With --server: the ID of the release to ask about, as the service shows it."
                    "  [default: the newest one of the file]"
                ),
            ),
            click.option(
                "--token",
                metavar="TOKEN",
                envvar="TREEWARDEN_TOKEN",
                help="A token with the permission 'gate'. Prefer the environment variable TREEWARDEN_TOKEN.",
            ),
            click.option(
                "--wait",
                type=Number(min=0),
                default=WAIT_SECONDS,
                show_default=True,
                metavar="SECONDS",
                help="How long to wait for a decision. If there is no decision in this time, the exit code is 3.",
            ),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """What a service is asked; a field has the name of its parameter. Without a ``server`` none is asked."""

    server: str | None
    sha256: str | None
    release: str | None
    token: str | None
    wait: float
    paths: tuple[Path, ...]


def ask_server(question: ServerQuestion, progress: ProgressPrinter) -> int:
    """Ask, print the answer, and return the exit code.

    Raises:
        click.UsageError: something is missing, or it is not one file that is asked about.
        RemoteError: there is no answer that can be relied on.
    """
    paths, sha256 = question.paths, question.sha256
    if not question.token:
        raise click.UsageError("--server needs a token: set TREEWARDEN_TOKEN, or add --token TOKEN")
    if len(paths) + (sha256 is not None) != 1:
        problem = (
            "--server needs exactly one file: the one that you will publish; give its path, or its digest with "
            "--sha256 DIGEST"
        )
        raise click.UsageError(problem)
    if sha256 is not None and not DIGEST.fullmatch(sha256):
        raise click.UsageError("--sha256 takes 64 characters (0-9, a-f), as sha256sum prints them")
    remote = importlib.import_module(REMOTE)
    request = remote.RemoteRequest(
        question.server,
        question.token,
        question.release or None,
        paths[0] if paths else None,
        sha256 or "",
    )
    found = remote.ask(request, question.wait, progress.step, say=progress.say)
    for line in found.lines:
        click.echo(printable(line))
    code: int = found.exit_code
    return code


EXITS: Mapping[Outcome, int] = {
    "PASS": PASS,
    "UNDETERMINED": UNDETERMINED,
    "FAIL": FAIL,
    "NO AUDIT": NO_AUDIT,
}
STARTING = "treewarden.jobs.gate.init_config"
"""Loaded when it is asked for: it reads models and tables, and no gate does before something changed."""
NOTHING = "Nothing was audited: no model changed, nor anything that its audit rests on."


@click.command("gate")
@click.argument("paths", nargs=-1, type=FILE)
@click.option(
    "--config",
    type=FILE,
    help=f"The configuration file.  [default: {NAME} here or in a folder above, within the repository]",
)
@form_option
@VERBOSE
@judgment_flag(
    "fail_on",
    unset="as configured",
    help="Checks of this severity or higher are required, for all models.",
)
@judgment_flag(
    "baseline",
    help="A file from --write-baseline, for all models. Findings that are already in it do not count, "
    "unless they got worse.",
)
@click.option(
    "--write-baseline",
    "new_baseline",
    type=FILE,
    help="Also write the current findings of all models as a baseline. Confidential like a report.",
)
@click.option(
    "--attestation",
    "attestations",
    type=FILE,
    multiple=True,
    help="A signed audit from 'treewarden attest', for a model whose table is elsewhere. May be repeated.",
)
@click.option(
    "--trust",
    type=FILE,
    multiple=True,
    help="The public key of a signer whose attestations are accepted. May be repeated.",
)
@click.option(
    "--changed-since",
    metavar="REVISION",
    help="Audit only models that changed since this git revision. The others get no verdict.",
)
@click.option(
    "--init",
    is_flag=True,
    help=f"Write a first {NAME} for the models in this folder; audit nothing.",
)
@click.option(
    "--update",
    is_flag=True,
    help="With --init: add missing models to an existing treewarden.toml, and change nothing else.",
)
@click.option("--jobs", type=WholeNumber(min=1), help="Number of processes.  [default: all cores]")
@click.option(
    "--no-cache",
    is_flag=True,
    help="Audit unchanged models too, and store no new results.",
)
@click.option(
    "--resume",
    metavar="FOLDER",
    type=FILE,
    help="Store intermediate results in this folder and reuse those of an interrupted run. Confidential.",
)
@on_a_cluster
@remote_options
@QUIET
@click.pass_context
def gate_command(context: click.Context, /, **_: Any) -> None:  # noqa: ANN401  # read from the context
    """Audit the changed models of a repository, and say in one exit code whether all its models may be published.

    For pipelines. PATHS are models or folders that treewarden.toml lists; without PATHS, all of them are judged.
    Unchanged models keep their earlier result, even if it is FAIL. A report contains all models (--format
    sarif=gate.sarif). If its name ends in /, it is a folder with one report for each model (--format html=reports/).

    With --server, ask a treewarden service for the verdict and wait for it. Nothing is audited locally. Give the
    file that you will publish as the PATHS argument. The service then checks that this exact file was audited and
    approved.
    """
    progress = ProgressPrinter(context.params["quiet"])
    options = options_record(GateOptions, context)
    question = options_record(ServerQuestion, context)
    if question.server is not None:
        context.exit(ask_server(question, progress))
    _check_options(options, question)
    if options.init:
        _write_configuration(context, options, progress)
    run = _prepare(options)
    context.meta[RESUMED] = "" if options.resume is None else str(options.resume)
    if options.resume is not None:
        own_folder(options.resume)
    done = gate(run.configuration, run.wish, progress.step, progress.say)
    for note in done.notes:
        progress.say(note)
    if done.gate.entries:
        _write(run, done)
        commands = _commands(done, run.models, options.config, options.paths)
        run.forms.of_all.show_gate(done.gate, dict(commands))
    _show_without_verdict(done, run.forms)
    if done.gate.entries:
        context.exit(EXITS[done.gate.outcome])
    if run.forms.of_all.paths or run.forms.model_forms:
        progress.say("no file is written")
    context.exit(PASS)


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What the command is asked for; a field has the name of its parameter."""

    paths: tuple[Path, ...]
    config: Path | None
    formats: tuple[OutputRequest, ...]
    verbose: bool
    fail_on: Severity | None
    baseline: Path | None
    new_baseline: Path | None
    attestations: tuple[Path, ...]
    trust: tuple[Path, ...]
    changed_since: str | None
    init: bool
    update: bool
    jobs: int | None
    no_cache: bool
    resume: Path | None


@dataclass(frozen=True, slots=True)
class PlannedGate:
    """A gate whose options are checked: its configuration, what is asked of this run, and where its forms go.

    ``models`` are all that it names.
    """

    configuration: Configuration
    wish: Wish
    forms: Forms
    models: Sequence[GateModel]

    @property
    def names(self) -> list[str]:
        """The names of all its models."""
        return [model.name for model in self.models]


def _check_options(options: GateOptions, question: ServerQuestion) -> None:
    for name, value in (("--release", question.release), ("--sha256", question.sha256)):
        if value is not None:
            raise click.UsageError(f"{name} goes with --server: whom to ask about it")
    if options.update and not options.init:
        raise click.UsageError("--update needs --init: write treewarden gate --init --update")
    if bool(options.attestations) != bool(options.trust):
        raise click.UsageError(
            "--attestation needs the public key of a trusted signer: --trust FILE. "
            "--trust needs --attestation"
        )


def _commands(
    done: Gated, models: Sequence[GateModel], config: Path | None, paths: Sequence[Path]
) -> Iterator[tuple[str, str]]:
    """Yield what to type where some model does not pass: how the first that fails is repaired, and all findings."""
    configured = () if config is None else ("--config", str(config))
    again = ("treewarden", "gate", *configured, *map(str, paths))
    failing = {entry.name for entry in done.gate.entries if entry.outcome == "FAIL"}
    first = next((model for model in models if model.name in failing), None)
    if first is not None:
        from treewarden.jobs.gate.repair_steps import repair_steps  # where a model fails only

        yield from repair_steps(first, shlex.join(again))
    if any(entry.outcome == "NO AUDIT" for entry in done.gate.entries):
        from treewarden.jobs.gate.repair_steps import cause_steps

        yield from cause_steps(models, done.gate)
    words = ("treewarden", "gate", *configured, "--verbose", *map(str, paths))
    yield "See all findings:", shlex.join(words)


def _write_configuration(
    context: click.Context, options: GateOptions, progress: ProgressPrinter
) -> NoReturn:
    """Write a first configuration, or add to one what it does not cover, and end."""
    if options.paths:
        raise click.UsageError("--init takes no PATHS; it looks at the whole folder")
    starting = importlib.import_module(STARTING)
    file = options.config or Path(NAME)
    if options.update:
        file = options.config or find_configuration(Path.cwd())
        config = starting.updated(file, progress.step)
    else:
        config = starting.begun(file.absolute().parent, file.name, progress.step)
    if not (config.is_update and file.read_text("utf-8-sig") == config.text):
        write_files({file: config.text.encode("utf-8")})
    for line in config.lines(Path(path_from_here(file))):
        click.echo(printable(line))
    context.exit(PASS)


def _prepare(options: GateOptions) -> PlannedGate:
    """Read the configuration, and check what goes where before any work."""
    if options.new_baseline is not None and (options.paths or options.changed_since):
        problem = (
            "--write-baseline writes one file for all models; leave out PATHS and --changed-since"
        )
        raise click.UsageError(problem)
    configuration = read_configuration(options.config or find_configuration(Path.cwd()))
    forms = forms_of(options.formats, is_verbose=options.verbose)
    models = models_of(configuration, options.new_baseline)
    outputs = forms.paths([model.name for model in models])
    if options.new_baseline is not None:
        check_file(options.new_baseline)
        check_ending(options.new_baseline, "a baseline", JSON_ENDINGS)
        outputs = (*outputs, options.new_baseline)
    check_apart(outputs)
    model_files = (path for model in models for path in model.inputs)
    files = (configuration.path, options.baseline, *model_files)
    check_no_input(outputs, (*files, *options.attestations, *options.trust))
    return PlannedGate(configuration, _wish(options, configuration, forms), forms, models)


def _wish(options: GateOptions, configuration: Configuration, forms: Forms) -> Wish:
    return Wish(
        paths=options.paths,
        fail_on=options.fail_on,
        changed_since=options.changed_since,
        jobs=options.jobs,
        cache=cache_folder(configuration.root),
        fresh=options.no_cache,
        forms=forms.model_forms,
        baseline=options.baseline,
        new_baseline=options.new_baseline,
        attestations=options.attestations,
        trust=options.trust,
        kept=None if options.resume is None else options.resume.absolute(),
    )


def _write(run: PlannedGate, done: Gated) -> None:
    """Write the forms, and the new baseline where one is wanted."""
    files = run.forms.files(done, run.names)
    if run.wish.new_baseline is not None and done.baseline is not None:
        files[run.wish.new_baseline] = done.baseline
    write_files(files)


def _show_without_verdict(done: Gated, forms: Forms) -> None:
    """Say what has no verdict; beside the result, where a program reads that."""
    is_text = forms.of_all.on_stdout in (None, ON_STDOUT)
    for line in _lines(done):
        click.echo(line, err=not is_text)


def _lines(done: Gated) -> Iterator[str]:
    if done.unchanged and done.gate.entries:
        yield ""
        number = counted(len(done.unchanged), "model", "models")
        yield f"Not changed, so without a verdict: {number}"
    for name in done.unchanged:
        yield f"  not changed  {printable(name)}"
    for file in done.deleted:
        yield f"  deleted      {printable(file)}"
    if not done.gate.entries:
        yield NOTHING


COMMAND = gate_command
