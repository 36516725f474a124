"""What a verdict is on a terminal: its exit code and its colour; and the boundary where every error becomes a code."""

from __future__ import annotations

import os
import re
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import (
    RequirementError,
    TooManyProfilesError,
    TreewardenError,
    near_text,
    os_problem,
)
from treewarden.reports.document.words import printable
from treewarden.terminal.outputs import has_written

PASS = 0
FAIL = 1
USAGE = 2
UNDETERMINED = 3
NO_AUDIT = 4
INTERRUPTED = 130
PIPE_CLOSED = 141

OF_THE_SERVICE = frozenset({"serve", "worker", "db"})
"""Commands of the package above this one, which is loaded by name alone and needs packages of its own."""
OF_THE_PARTIES = frozenset({"vertical", "party", "miner"})
"""Commands of parties who grow a tree together, which need packages of their own."""
OF_THE_DEMO = frozenset({"sklearn", "statsmodels"})
"""What is missing where the demo was not installed; all else that may be missing is the parties' or the service's."""
QUIETLY = "treewarden.quiet"
"""Where the context of a command line remembers that nothing but the result and errors is wanted."""
RESUMED = "treewarden.resumed"
"""Where that context remembers the folder of what is solved, of a command that can keep it; "" where it does not."""
LONG_SECONDS = 60.0
"""An interrupted command that ran for longer says how it could have kept what was solved."""
OF_AUDITS = frozenset({None, "audit", "gate", "repair"})
"""Commands that write all their results in one last step; None: not even the command was begun."""
MAKES_A_KEY = "attest --make-key FILE"
NEXT_STEP = re.compile(r"; | --[a-z]|\b(treewarden|pip install) ")
"""What a message with something to do holds: what is behind its semicolon, an option or a command."""
EXITS = {
    PolicyVerdict.PASS: PASS,
    PolicyVerdict.FAIL: FAIL,
    PolicyVerdict.UNDETERMINED: UNDETERMINED,
}
COLOURS = {"PASS": "green", "FAIL": "red", "UNDETERMINED": "yellow", "NO AUDIT": "red"}
MEANINGS = {
    PASS: "PASS: every required check passed",
    FAIL: "FAIL: a required check failed",
    USAGE: "invalid command line: nothing was done",
    UNDETERMINED: "UNDETERMINED: a required check could not be decided. Treat it as a FAIL",
    NO_AUDIT: "no audit was performed. The message on stderr says why",
    INTERRUPTED: "interrupted (Ctrl-C). Files are written whole or not at all",
}


@contextmanager
def boundary(context: click.Context) -> Iterator[None]:
    """Turn what goes wrong inside into one line on stderr and an exit code; no traceback reaches the user."""
    begun = time.monotonic()
    try:
        yield
    except TooManyProfilesError as error:
        click.echo(f"undetermined: {printable(error.line)}", err=True)
        raise click.exceptions.Exit(UNDETERMINED) from None
    except RequirementError as error:
        click.echo(f"nothing is written: {printable(error.line)}", err=True)
        raise click.exceptions.Exit(FAIL) from None
    except TreewardenError as error:
        _stop(context, error.line, () if context.meta.get(QUIETLY) else error.notes)
    except MemoryError:
        _stop(
            context,
            "not enough memory; use fewer quasi-identifiers (--qi) or a smaller model",
        )
    except (KeyboardInterrupt, click.Abort):
        click.echo(f"interrupted: {_left(context)}", err=True)
        for line in going_on(context, time.monotonic() - begun):
            click.echo(line, err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise click.exceptions.Exit(PIPE_CLOSED) from None
    except OSError as error:
        _stop(context, f"{error.filename or 'the output'}: {os_problem(error)}")
    except ModuleNotFoundError as error:
        extra, what = "serve", "the service"
        if str(error.name).partition(".")[0] in OF_THE_DEMO:
            extra, what = "demo", "the demo"
        elif context.invoked_subcommand in OF_THE_PARTIES:
            extra, what = "mpc", "a tree of several parties"
        _stop(
            context,
            f"the package {error.name} is not installed, and {what} needs it: pip install 'treewarden[{extra}]'",
        )
    except (click.NoSuchOption, click.MissingParameter) as error:
        raise click.UsageError(_of_usage(error), error.ctx) from None
    except click.UsageError as error:
        if not isinstance(error, click.BadParameter):
            raise click.UsageError(_in_own_words(error), error.ctx) from None
        raise click.BadParameter(
            _in_own_words(error), error.ctx, error.param, error.param_hint
        ) from None
    except (click.exceptions.Exit, click.ClickException):
        raise
    except Exception as error:  # a crash exits with 1, which scripts would read as a verdict
        if os.environ.get("TREEWARDEN_TRACEBACK"):
            traceback.print_exc()
        problem = f"{type(error).__name__}: {error}"
        _stop(
            context,
            f"a bug in treewarden ({problem}); run it again with TREEWARDEN_TRACEBACK=1, and send the output to "
            "those who maintain treewarden, without personal data",
        )


def _of_usage(error: click.NoSuchOption | click.MissingParameter) -> str:
    """Return what is wrong with a command line, in the words of all other messages."""
    if isinstance(error, click.NoSuchOption):
        own = error.ctx.command.params if error.ctx else ()
        names = {each.lstrip("-"): each for param in own for each in param.opts if each[:1] == "-"}
        near = near_text(error.option_name.lstrip("-"), names)
        for bare, name in names.items():
            near = near.replace(repr(bare), repr(name))
        return f"no such option {error.option_name!r}{near}"
    param, context = error.param, error.ctx
    if isinstance(param, click.Option) and context is not None:
        make = f"; make one with treewarden {MAKES_A_KEY}" if param.name == "key" else ""
        return f"add {param.opts[-1]} {param.make_metavar(context)}{make}"
    name = param.human_readable_name.rstrip(".") if param is not None else str(error.param_hint)
    example = _example(context)
    return f"give {name}{f', for example: {example}' if example else ''}"


UNKNOWN_COMMAND = re.compile(r"No such command '(.*)'\.")
EXTRA_ARGUMENT = re.compile(r"Got unexpected extra arguments? \((.*)\)")
NO_VALUE = re.compile(r"Option '(.*)' requires an argument\.")
NO_CHOICE = re.compile(r"'(.*)' is not one of (.*)\.")


def _in_own_words(error: click.UsageError) -> str:
    """Return a message of the library that parses command lines, in the words of all other messages."""
    message, context = error.message, error.ctx
    command = context.command if context is not None else None
    if found := UNKNOWN_COMMAND.fullmatch(message):
        names = list(command.commands) if isinstance(command, click.Group) else []
        return f"no such command {found[1]!r}{near_text(found[1], names)}; use {', '.join(names)}"
    if (found := EXTRA_ARGUMENT.fullmatch(message)) and context is not None and command is not None:
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        taken = " and ".join(each.make_metavar(context) for each in arguments) or "no argument"
        return f"{context.info_name} takes {taken}, but was also given {found[1]!r}; remove it, or name its option"
    if found := NO_VALUE.fullmatch(message):
        return f"{found[1]} needs a value; add one after it"
    if found := NO_CHOICE.fullmatch(message):
        choices = [choice.strip("'") for choice in found[2].split(", ")]
        return f"{found[1]!r} is unknown{near_text(found[1], choices)}; use {', '.join(choices)}"
    return message


def _example(context: click.Context | None) -> str:
    """Return the first example of a command's help; "" where it has none."""
    lines = ((context.command.epilog if context else "") or "").splitlines()
    return next((line.strip() for line in lines if line.startswith("  treewarden ")), "")


def _left(context: click.Context) -> str:
    """Return what an interrupted command leaves behind."""
    if context.invoked_subcommand in OF_AUDITS and not has_written(context):
        return "nothing was written"
    return "what was written before stays, and no file is half written"


def going_on(context: click.Context, seconds: float) -> Iterator[str]:
    """Yield how a command that was interrupted after so many seconds can go on, where it can keep what is solved."""
    folder = context.meta.get(RESUMED)
    if folder:
        yield f"intermediate results are kept in {printable(folder)}; run the same command again to continue"
    elif folder is not None and seconds >= LONG_SECONDS:
        yield "no intermediate results were kept; add --resume FOLDER so that the next run can be continued"


def _help(context: click.Context, problem: str) -> str:
    """Return the command that explains the options, where a message does not say what to do."""
    if NEXT_STEP.search(problem):
        return ""
    words = ["treewarden", context.invoked_subcommand or "", "--help"]
    return f"; for help: {' '.join(filter(None, words))}"


def _stop(context: click.Context, problem: str, notes: tuple[str, ...] = ()) -> None:
    audits = context.invoked_subcommand in OF_AUDITS | {"demo"}
    said = "no audit was performed" if audits else "nothing was done"
    click.echo(f"{said}: {printable(problem)}{_help(context, problem)}", err=True)
    for note in notes:
        click.echo(f"note: {printable(note)}", err=True)
    raise click.exceptions.Exit(NO_AUDIT) from None


# Colours on a terminal: the verdict only, and never as what alone tells it.


def with_coloured_verdict(line: str) -> str:
    """Return a line for stdout that begins with a verdict, the verdict in colour where that is wanted."""
    return line_for(line, is_terminal=sys.stdout.isatty(), environment=os.environ)


def line_for(line: str, *, is_terminal: bool, environment: Mapping[str, str]) -> str:
    """Return the line; in colour on a terminal only, unless ``NO_COLOR`` is set or the terminal is a dumb one."""
    verdict = next((word for word in COLOURS if line.startswith(word)), "")
    is_plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
    if not verdict or not is_terminal or is_plain:
        return line
    return f"{click.style(verdict, fg=COLOURS[verdict], bold=True)}{line.removeprefix(verdict)}"
