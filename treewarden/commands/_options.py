"""The options that commands share: a field of ``AuditOptions`` or ``AuditFiles`` is a flag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from treewarden.audit.option_spec import Content, OptionSpec
from treewarden.audit.options import (
    DEFAULT,
    KNOWLEDGE,
    OPTION_SPECS,
    AuditOptions,
    find_bad_number,
    find_conflict,
)
from treewarden.commands._common_options import (
    FILE,
    QUIET,
    Command,
    Number,
    Option,
    WholeNumber,
    judgment_flag,
    names_of,
    on_a_cluster,
)
from treewarden.jobs.audit_request import (
    EXCEPTIONS,
    FILE_SPECS,
    JUDGMENT_SPECS,
    AuditFiles,
    Earlier,
    FileForm,
    FileSpec,
    Request,
    flag_of,
)
from treewarden.jobs.inputs import table_input
from treewarden.ppdm_models.tables.counting.addresses import TableAddress

PURPOSE = click.option(
    "--purpose",
    metavar="TEXT",
    default="",
    help="The purpose of the publication, printed in the compliance and PDF reports.  "
    "[default: a line to fill in]",
)
RESUME = click.option(
    "--resume",
    metavar="FOLDER",
    type=FILE,
    help="Store intermediate results in this folder and reuse those of an interrupted run. Confidential.",
)


class _TableType(click.ParamType):  # type: ignore[type-arg]  # it is no generic type when it runs
    """A path, or the address of a table in a database."""

    name = "file"

    def convert(
        self,
        value: str | Path | TableAddress,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path | TableAddress:
        return table_input(value) if isinstance(value, str) else value


TABLE = _TableType()
_MODEL = click.argument("model", type=FILE)
_DATA = (
    "The training table: CSV (.gz, .zst too), Parquet, Arrow, Excel (FILE#SHEET), SPSS, SAS or Stata; a folder or "
    "pattern of such files; a DuckDB database (FILE#TABLE); or a database table "
    "(postgresql://USER@HOST/DATABASE#TABLE)."
)
_FILES: tuple[Option, ...] = (
    _MODEL,
    click.option("--data", type=TABLE, required=True, help=_DATA),
)
_MAYBE_ALONE: tuple[Option, ...] = (
    click.argument("models", metavar="MODEL...", type=FILE, nargs=-1, required=True),
    click.option(
        "--data",
        "tables",
        type=TABLE,
        multiple=True,
        help=f"{_DATA} Give one per MODEL if the tables differ.  [required, or --no-table]",
    ),
    click.option(
        "--id",
        "key",
        metavar="COLUMN",
        help="The column that identifies a person across tables or records. "
        "Models with different tables cannot pass without it.",
    ),
    click.option(
        "--no-table",
        is_flag=True,
        help="Audit the file alone. Checks that need the table are not decided, so the verdict is often UNDETERMINED.",
    ),
)


def request_options(command: Command) -> Command:
    """Add all that an audit can be asked to a command; pass what they hold to ``request_of``."""
    return request_options_saying({})(command)


def request_options_alone(command: Command) -> Command:
    """Add the same options to a command that can do without a table, where that is said."""
    return request_options_saying({}, _MAYBE_ALONE)(command)


def request_options_saying(words: Mapping[str, str], files: tuple[Option, ...] = _FILES) -> Option:
    """Return what adds the same options, the help of some of them another: by the name of the field."""

    def add(command: Command) -> Command:
        options: list[Option] = [*files, *_flags(words), QUIET]
        command = on_a_cluster(command)
        for option in reversed(options):
            command = option(command)
        return command

    return add


def request_of(context: click.Context) -> Request:
    """Return the request in a command's parameters.

    Raises:
        click.UsageError: a knowledge file is given beside options that it already answers, or both kinds of weights; or
            it is not said whether there is a table, or which.
    """
    given = dict(context.params)
    earlier = _earlier(given) if "models" in given else ()
    if (given["data"] is None) is not given.get("no_table", False):
        raise click.UsageError(
            "add the training table: --data TABLE; to audit the file alone, add --no-table instead"
            if given["data"] is None
            else "--data and --no-table exclude each other; give one of them"
        )
    if given["knowledge"] is not None:
        for name in KNOWLEDGE:
            if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
                raise click.UsageError(
                    f"{flag_of(name)} cannot be combined with --knowledge; leave it out, or state it in that file"
                )
    for name, spec in OPTION_SPECS.items():
        if spec.if_empty:
            given[name] = _list_of(name, given[name], spec)
    try:
        options = AuditOptions(**{name: given[name] for name in OPTION_SPECS})
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        raise click.UsageError(f"{flag_of(name)}: {problem}") from error
    conflict = find_conflict(options, flag_of)
    if conflict is not None:
        raise click.UsageError(f"{flag_of(conflict.name)}: {conflict.problem}")
    files = AuditFiles(**{name: given[name] for name in FILE_SPECS})
    return Request(
        given["model"],
        given["data"],
        options,
        files,
        **{name: given[name] for name in JUDGMENT_SPECS if name in given},
        earlier=earlier,
        key=given.get("key"),
    )


def _list_of(name: str, values: tuple[str, ...], spec: OptionSpec) -> tuple[str, ...] | None:
    """Return the entries of an option that is a list; None where it was not given."""
    flag = flag_of(name)
    entries = names_of(values, flag)
    if values and not entries:
        raise click.UsageError(f"{flag} {spec.if_empty}")
    wrong = find_bad_number(entries) if spec.content is Content.NUMBERS else None
    if wrong is not None:
        raise click.UsageError(f"{flag}: {wrong!r} is not a number; give numbers, such as 18,40,65")
    return entries or None


def _earlier(values: dict[str, Any]) -> tuple[Earlier, ...]:
    """Return the releases before the last one; the last one's model and table are put where one alone stands."""
    *before, values["model"] = values["models"]
    tables = list(values["tables"])
    if len(tables) > 1 and len(tables) != len(values["models"]):
        raise click.UsageError("give one --data for all models, or one per model in the same order")
    if values["key"] is not None and before and len(set(tables)) < 2:
        raise click.UsageError(
            "--id matches the people of several tables, but --data names one table; give --data once per model"
        )
    if values["key"] is not None and not tables:
        raise click.UsageError("--id names a column of the table; give it with --data")
    if before and not tables:
        raise click.UsageError(
            "several models can be audited only with their tables; add --data TABLE"
        )
    values["data"] = tables[-1] if tables else None
    return tuple(
        Earlier(model, table) for model, table in zip(before, tables * len(before), strict=False)
    )


def _flags(words: Mapping[str, str]) -> Iterator[Option]:
    """Yield the fields of ``AuditOptions`` as flags; the files that say more stand behind what they can replace."""
    for name, spec in OPTION_SPECS.items():
        yield _flag(name, replace(spec, help=words.get(name, spec.help)))
        if name == KNOWLEDGE[-1]:
            yield from (_file_flag(file, file_spec) for file, file_spec in FILE_SPECS.items())
            yield from (judgment_flag(name) for name in JUDGMENT_SPECS if name not in EXCEPTIONS)


def _file_flag(name: str, spec: FileSpec) -> Option:
    kind = TABLE if spec.form is FileForm.TABLE else FILE
    flag = f"--{spec.flag}"
    return click.option(flag, name, type=kind, multiple=spec.is_several, help=spec.help)


def _flag(name: str, spec: OptionSpec) -> Option:
    flag, default = flag_of(name), getattr(DEFAULT, name)
    help_ = f"{spec.help}  [default: {spec.unset}]" if spec.unset else spec.help
    if default is True:
        return click.option(f"{flag}/--no-{flag[2:]}", default=True, show_default=True, help=help_)
    if default is False:
        return click.option(flag, is_flag=True, help=help_)
    kind: Any = str
    if spec.choices:
        kind = click.Choice(spec.choices)
    elif float in spec.kinds:
        kind = Number(min=spec.low, max=spec.high, min_open=spec.is_open)
    elif int in spec.kinds:
        kind = WholeNumber(min=None if spec.low is None else int(spec.low))
    return click.option(
        flag,
        type=kind,
        default=None if default is None else str(default),
        show_default=default is not None,
        metavar=spec.metavar,
        multiple=tuple in spec.kinds,
        help=help_,
    )
