"""The options that commands share which load no job: files, columns, and whether to replace or to be quiet."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import fields
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from treewarden.policies.verdict import SEVERITIES
from treewarden.terminal.exits import QUIETLY
from treewarden.terminal.progress import ProgressPrinter

if TYPE_CHECKING:
    from datetime import datetime

    from _typeshed import DataclassInstance


UNLIMITED = 1e9
"""From here on a limit only guards against mistakes, and is not worth a word."""


class Number(click.FloatRange):
    """A number with limits."""

    name = "number"

    def _describe_range(self) -> str:
        return limits_in_words(self)

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | int:
        """Return the number.

        Raises:
            click.BadParameter: it is no number, or outside its limits.
        """
        return _converted(self, float, value, (param, ctx))


class WholeNumber(click.IntRange):
    """A whole number with limits."""

    name = "number"

    def _describe_range(self) -> str:
        return limits_in_words(self)

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number.

        Raises:
            click.BadParameter: it is no whole number, or outside its limits.
        """
        return int(_converted(self, int, value, (param, ctx)))


def limits_in_words(kind: Number | WholeNumber) -> str:
    """Return the limits of a number in words; "" where there are none."""
    low, high = kind.min, kind.max
    if high is not None and high < UNLIMITED:
        return f"at most {high:,g}" if low is None else f"{low:,g} to {high:,g}"
    if low is None:
        return ""
    return f"more than {low:,g}" if kind.min_open else f"{low:,g} or more"


def _converted(
    kind: Number | WholeNumber,
    read: type[float] | type[int],
    value: object,
    at: tuple[click.Parameter | None, click.Context | None],
) -> float | int:
    noun = "whole number" if read is int else "number"
    limits = limits_in_words(kind)
    wanted = limits or f"a {noun}"
    number_wanted = f"a {noun}: {limits}" if limits else f"a {noun}"
    try:
        number = read(str(value))
        if number != number:
            raise ValueError("nan")
    except (ValueError, OverflowError):
        kind.fail(f"{value!r} is not a {noun}; give {number_wanted}", *at)
    is_low = kind.min is not None and (number < kind.min or (kind.min_open and number == kind.min))
    is_high = kind.max is not None and (number > kind.max or (kind.max_open and number == kind.max))
    if is_low or is_high:
        kind.fail(f"{value} is outside the limits; give {wanted}", *at)
    return number


class Day(click.DateTime):
    """A date, as 2027-01-31."""

    def __init__(self) -> None:
        super().__init__(["%Y-%m-%d"])

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the first moment of the day.

        Raises:
            click.BadParameter: it is no date.
        """
        try:
            return super().convert(str(value), param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a date; write it as 2027-01-31", param, ctx)


Command = Callable[..., None]
Option = Callable[[Command], Command]
OptionsRecord = TypeVar("OptionsRecord", bound="DataclassInstance")

FILE = click.Path(path_type=Path, readable=False)
"""A path whose file is looked at by what reads it: whatever keeps it from being read has one message and exit code."""

K = click.option(
    "--k",
    type=WholeNumber(min=1),
    help="Every group has at least this many records (k-anonymity).",
)
L = click.option(
    "--l",
    "diversity",
    type=Number(min=1, max=1e9),
    help="In every group, the most common sensitive value has less than 1/l of the records.",
)
TAXONOMY = click.option(
    "--taxonomy",
    "taxonomies",
    type=FILE,
    multiple=True,
    help="A file that says which values may be merged, such as towns to regions: a TOML file, or a CSV file named "
    "after the column. May be repeated.",
)
FORCE = click.option("--force", is_flag=True, help="Overwrite existing output files.")


def _remember(context: click.Context, option: click.Parameter, is_quiet: bool) -> bool:
    context.meta[QUIETLY] = is_quiet
    return is_quiet


QUIET = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    callback=_remember,
    help="Print no progress and no warnings on stderr.",
)


def qi_option(help: str) -> Option:  # noqa: A002  # as click names it
    """Return the option that names quasi-identifiers; its values go to ``names_of``."""
    return click.option("--qi", metavar="COLUMN[,COLUMN...]", multiple=True, help=help)


def output_option(help: str) -> Option:  # noqa: A002  # as click names it
    """Return the option that names the file, or folder, to write."""
    return click.option("-o", "--output", type=FILE, required=True, help=help)


def names_of(values: tuple[str, ...], option: str = "--qi") -> tuple[str, ...]:
    """Return the column names in comma lists; a name with a comma in it is quoted as in CSV (``'"a, b",c'``)."""
    try:
        names = [name for row in csv.reader(values, skipinitialspace=True) for name in row]
    except csv.Error as error:
        problem = f"not a comma list ({error})"
        if any("\n" in value or "\r" in value for value in values):  # csv speaks of files here
            problem = "a line break outside quotes; put a name that holds one in double quotes"
        raise click.BadParameter(problem, param_hint=option) from error
    return tuple(dict.fromkeys(name for name in names if name))


def options_record(record: type[OptionsRecord], context: click.Context) -> OptionsRecord:
    """Return the options of a command as a record; each of its fields has the name of a parameter."""
    given = context.params
    return record(**{option.name: given[option.name] for option in fields(record)})


# The options that say where work is done: on this machine, or on a cluster.

VARIABLE = "TREEWARDEN_CLUSTER"
CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS",
    envvar=VARIABLE,
    show_envvar=True,
    help="Spread the work over a Dask (tcp://, tls://) or Ray (ray://) cluster; the result is the same.",
)
REQUIRED = click.option(
    "--cluster-required",
    is_flag=True,
    help="Exit with 4 if the cluster does not answer, instead of working on this machine.",
)


def on_a_cluster(command: Command) -> Command:
    """Add both options to a command, and have its work done where they say."""

    def placed(*given: Any, cluster: str | None, cluster_required: bool, **more: Any) -> None:  # noqa: ANN401  # the command's own
        if not cluster and not cluster_required:
            command(*given, **more)
            return
        from treewarden.audit.workers.clusters.cluster import on_cluster  # where one is named

        tell = ProgressPrinter(bool(more.get("quiet"))).say
        with on_cluster(cluster, tell, is_required=cluster_required):
            command(*given, **more)

    return CLUSTER(REQUIRED(update_wrapper(placed, command)))


# The options of the two commands that take part in a session.

CERTIFICATES = click.option(
    "--certificates",
    type=FILE,
    default=Path("certificates"),
    show_default=True,
    help="The folder with ca.pem and your certificate and key: NAME.pem, NAME.key.",
)
SESSION = click.option(
    "--session",
    type=FILE,
    required=True,
    help="The TOML file of the session, the same for all sides.",
)


def judgment_flag(
    name: str,
    *,
    unset: str | None = None,
    help: str = "",
    hidden: bool = False,  # noqa: A002
) -> Option:
    """Return the flag of what judges an audit, or is accepted: with another ``help``, or no default but ``unset``."""
    from treewarden.jobs.audit_request import JUDGMENT_SPECS, JudgmentForm  # pydantic

    spec = JUDGMENT_SPECS[name]
    kinds: dict[JudgmentForm, Any] = {
        JudgmentForm.POLICY: str,
        JudgmentForm.SEVERITY: click.Choice(tuple(reversed(SEVERITIES))),
        JudgmentForm.EXCEPTIONS: FILE,
    }
    text = help or spec.help
    default = spec.default if unset is None else None
    return click.option(
        f"--{name.replace('_', '-')}",
        type=kinds[spec.form],
        metavar="NAME|FILE" if spec.form is JudgmentForm.POLICY else None,
        default=default,
        show_default=default is not None,
        help=f"{text}  [default: {unset}]" if unset else text,
        hidden=hidden,
    )


def exception_options(*, hidden: bool = False) -> Option:
    """Return what adds the files of what is accepted to a command; a command that refuses them hides them."""
    from treewarden.jobs.audit_request import EXCEPTIONS  # pydantic

    def add(command: Command) -> Command:
        for name in reversed(EXCEPTIONS):
            command = judgment_flag(name, hidden=hidden)(command)
        return command

    return add
