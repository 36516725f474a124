"""The options that ``audit`` and ``repair`` share, and how their values become a request."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import click

from audit.adversary.knowledge import LeafLevel, SplitLevel
from ppdm_models.tree.tree import Tool
from treewarden.jobs.subject import Request

Command = Callable[..., None]

FILE = click.Path(path_type=Path)
_LEVELS = ("leaf", "split", "learner", "marginal", "accuracy")

_OPTIONS = (
    click.argument("model", type=FILE),
    click.option("--data", type=FILE, required=True, help="The training table: CSV or Parquet."),
    click.option("--sensitive", metavar="COLUMN", help="The sensitive column: the tree's target."),
    click.option(
        "--qi",
        metavar="COLUMN[,COLUMN...]",
        multiple=True,
        help="What the adversary knows of everyone. May be repeated; default: the model's fields.",
    ),
    click.option("--weights", metavar="COLUMN", help="How many people each row stands for."),
    click.option(
        "--sampling-weights",
        metavar="COLUMN",
        help="A survey's weights: each row is one person, and only the tree's numbers are weighed.",
    ),
    click.option(
        "--leaf",
        type=click.Choice([level.value for level in LeafLevel]),
        default=LeafLevel.AS_PUBLISHED.value,
        show_default=True,
        help="What the adversary knows of each leaf.",
    ),
    click.option(
        "--split",
        type=click.Choice([level.value for level in SplitLevel]),
        default=SplitLevel.AS_PUBLISHED.value,
        show_default=True,
        help="The criterion that the adversary knows the splits were chosen by.",
    ),
    click.option(
        "--learner",
        type=click.Choice([tool.value for tool in Tool if tool is not Tool.UNKNOWN]),
        help="The program that grew the tree, where the file does not say it: it decides which splits were compared.",
    ),
    click.option(
        "--marginal", is_flag=True, help="The adversary knows each class's overall share."
    ),
    click.option("--accuracy", is_flag=True, help="The adversary knows the training accuracy."),
    click.option(
        "--knowledge", type=FILE, help="A TOML file that says all the adversary knows, and facts."
    ),
    click.option(
        "--policy",
        metavar="PACK|FILE",
        default="standard",
        show_default=True,
        help="A pack that ships ('treewarden list packs'), or a TOML file.",
    ),
    click.option(
        "--solver",
        type=click.Choice(["auto", "casadi", "cyipopt"]),
        default="auto",
        show_default=True,
        help="The door to IPOPT.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        help="Processes to solve with; the result is the same for any number.  [default: all cores]",
    ),
    click.option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="What is not solved by then is undetermined.",
    ),
    click.option(
        "--rows",
        type=click.Choice(["integer", "real"]),
        default="integer",
        show_default=True,
        help="State split choices over whole records where that is exact, or over shares as the papers do.",
    ),
    click.option(
        "--worlds/--no-worlds",
        default=True,
        show_default=True,
        help="Whether to reason over whole records too: what is certain, not only likely.",
    ),
    click.option(
        "--worlds-budget",
        type=click.FloatRange(min=0, max=1e9),
        default=20.0,
        show_default=True,
        metavar="SECONDS",
        help="What whole records prove beyond that is not decided.",
    ),
    click.option(
        "--strict-ties",
        is_flag=True,
        help="The learner is known to take the first of equally good splits, as ID3 does.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="No progress and no warnings on stderr."),
)


def request_options(command: Command) -> Command:
    """Add the shared options to a command; pass what they hold to ``request_of``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def request_of(context: click.Context) -> Request:
    """Return the request in a command's parameters.

    Raises:
        click.UsageError: a knowledge file is given beside options that it already answers, or both kinds of weights.
    """
    given = dict(context.params)
    if given["weights"] is not None and given["sampling_weights"] is not None:
        raise click.UsageError(
            "a row stands for so many people (--weights), or for one whom a survey weighs (--sampling-weights); "
            "choose one"
        )
    if given["knowledge"] is not None:
        for name in _LEVELS:
            if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
                raise click.UsageError(f"--knowledge says it all; leave out --{name}")
    given["qi"] = names_of(given["qi"]) or None
    return Request(**{name: given[name] for name in Request.__dataclass_fields__})


def names_of(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the column names in comma lists; a name with a comma in it is quoted as in CSV (``'"a, b",c'``)."""
    try:
        names = [name for row in csv.reader(values, skipinitialspace=True) for name in row]
    except csv.Error as error:
        raise click.BadParameter(
            f"not a comma list of columns ({error})", param_hint="--qi"
        ) from error
    return tuple(dict.fromkeys(name for name in names if name))
