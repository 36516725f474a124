"""The people of an audit and the adversaries who know some columns, from a table (read or counted) and a request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import (
    MOST,
    MOST_CHARACTERS,
    DeclaredAdversary,
    RowOrder,
    SecretColumn,
    words_of,
)
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.population.record_linkage import lookalike_ids
from treewarden.audit.population.target import contributors_of
from treewarden.jobs.audit_request import flag_of
from treewarden.jobs.inputs import ModelInput, TableInput
from treewarden.ppdm_models.errors import ColumnNotCountedError, KnowledgeError, TableError
from treewarden.ppdm_models.files.load import OpenedFile
from treewarden.ppdm_models.tables.counting.addresses import TableAddress, has_no_records
from treewarden.ppdm_models.tables.dialect import dialect_of
from treewarden.ppdm_models.tables.matching import PLACEHOLDERS, alike, has_column, target_in
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model

if TYPE_CHECKING:
    from treewarden.ppdm_models.tables.counting.source import TableSource


LARGE_BYTES = 64 * 2**20
"""From so many bytes on a file is counted, where nothing needs its single records."""
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"ARROW1", b"PK\x03\x04", b"$FL")
PACKED_TIMES = 8
"""How files start that are packed, or may be, and how many times as large what is in them is taken to be."""
PARQUET, LARGE_RECORDS = b"PAR1", 250_000
"""A Parquet file says how many records it has, and may have millions in a few bytes."""


def is_large(path: Path) -> bool:
    """Return whether a file holds so much that it is counted where that will do."""
    path, _ = dialect_of(path)
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        return False
    if start.startswith(PARQUET):
        return _records_of_parquet(path) >= LARGE_RECORDS
    times = PACKED_TIMES if start.startswith(PACKED) else 1
    return path.stat().st_size * times >= LARGE_BYTES


def _records_of_parquet(path: Path) -> int:
    """Return how many records a Parquet file says that it has; none, where that cannot be read: reading tells why."""
    try:
        return int(pa_parquet.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0


Built = TypeVar("Built")


def with_options(knowledge: Knowledge, options: AuditOptions) -> Knowledge:
    """Return the knowledge with the adversary and the secret that options declare, if they do.

    Raises:
        KnowledgeError: an end of the bins is no number, bins part nothing, a name is empty, the secret is another one
            than that of the knowledge, or there are too many adversaries.
    """
    everyone = (*_by_option(options), *knowledge.adversaries)
    if len(everyone) > MOST:
        problem = (
            f"{len(everyone)} adversaries are declared, and the limit is {MOST}; leave some out"
        )
        raise KnowledgeError("adversaries", problem)
    secret = _secret_column(options, knowledge)
    return knowledge.model_copy(update={"adversaries": everyone, "secret": secret})


def _by_option(options: AuditOptions) -> list[DeclaredAdversary]:
    """Return the adversary that options declare, if they do."""
    if options.knows is None:
        return []
    if not options.knows or not all(options.knows):
        raise KnowledgeError("knows", "a column without a name; name columns of the table")
    word = options.knows[0]
    if is_preset(options):
        return [DeclaredAdversary(name=word, knows=word, target=options.target_known)]
    name = _called(options.knows)
    return [DeclaredAdversary(name=name, knows=options.knows, target=options.target_known)]


def is_preset(options: AuditOptions) -> bool:
    """Return whether options say with one word what an adversary knows."""
    knows = options.knows or ()
    from treewarden.audit.knowledge.adversaries import WORDS  # where an option names columns

    return len(knows) == 1 and knows[0] in WORDS


def _called(columns: Sequence[str]) -> str:
    """Return what somebody is called who knows some columns: all of them as far as there is room."""
    for shown in range(len(columns), 0, -1):
        more = len(columns) - shown
        name = f"who knows {words_of((*columns[:shown], *([f'{more} more'] if more else [])))}"
        if len(name) <= MOST_CHARACTERS:
            return name
    return f"who knows {len(columns)} columns" if len(columns) > 1 else "who knows one column"


def _secret_column(options: AuditOptions, knowledge: Knowledge) -> SecretColumn | None:
    secret_column = knowledge.secret
    if options.secret is None:
        if options.bins:
            raise KnowledgeError(
                "bins", "they divide the numbers of the secret column; name it with --secret"
            )
        return secret_column
    if not options.secret:
        raise KnowledgeError("secret", "a column without a name; name a column of the table")
    if secret_column is not None and secret_column.column != options.secret:
        problem = (
            f"the secret is {options.secret!r} by option but {secret_column.column!r} in the file; "
            "keep one of them"
        )
        raise KnowledgeError("secret", problem)
    try:
        bins = (
            tuple(map(float, options.bins))
            if options.bins
            else secret_column.bins
            if secret_column
            else ()
        )
        return SecretColumn(column=options.secret, bins=bins)
    except ValueError as error:
        problem = "not a number; give the cut points that divide the secret's numbers: --bins 30,50"
        raise KnowledgeError("bins", problem) from error


def people_of(
    model_input: ModelInput, model: Model, table: Table, options: AuditOptions
) -> Population:
    """Return the people of a table as a model sees them; without a sensitive column named, it is the file's target.

    Raises:
        TableError: the table is not the model's.
    """
    target, features = target_of(model, table), {feature.name for feature in model.features}
    named = options.sensitive or (None if target in (options.qi or ()) else target)
    if isinstance(model_input, OpenedFile) and named and not has_column(table, named):
        # No file names the target here, so that a slip in its name would go unseen.
        raise TableError(table.source, f"{table.lacks(named)}; correct --sensitive")
    for column in options.column_of_feature.values():
        if column in features and not has_column(table, column):
            raise TableError(table.source, table.lacks(column))
    named_by = {"weights": options.weights, "sampling-weights": options.sampling_weights}
    columns = [("qi", column) for column in options.qi or ()]
    columns += [(option, column) for option, column in named_by.items() if column]
    for option, column in columns:
        if not has_column(table, column) and column not in features:
            raise TableError(table.source, f"{table.lacks(column)}; correct --{option}")
    try:
        population = build_population(
            model,
            table,
            sensitive=named,
            qi=options.qi,
            weights=options.weights,
            sampling_weights=options.sampling_weights,
        )
    except TableError as error:
        raise _with_notes(error, model, options) from error
    if named and not has_column(table, named):  # what else is wrong with the table was said first
        raise TableError(table.source, _lacks_sensitive(table, named))
    return population


def _lacks_sensitive(table: Table, name: str) -> str:
    """Return that a table lacks the sensitive column, and what to do: who names a column means the table to have it."""
    problem = table.lacks(name)
    if table.seems_headless():
        return problem
    rename = f"rename the column that holds it to {name!r}, or give the table that has it"
    return f"{problem}; {rename}. To audit without the true values, name no sensitive column"


def with_contributors(population: Population, table: Table, name: str) -> Population:
    """Return the same people, of whom a column of their table says whose record each is.

    Raises:
        TableError: there is no such column, or a record has no value there.
    """
    contributions = population.contributions
    assert contributions is not None  # the people were built from this table
    contributors, several = contributors_of(table, name, contributions.rows)
    notes = population.warnings
    if several:
        verb = "person or firm has" if several == 1 else "people or firms have"
        notes += (
            (
                f"{several:,} {verb} several records (column {name!r}): the checks of contributors count "
                "each once, all other checks count records"
            ),
        )
    ids = table.categories(name).categories
    contributions = replace(contributions, contributors=contributors, lookalikes=lookalike_ids(ids))
    return replace(population, contributions=contributions, warnings=notes)


def target_of(model: Model, table: Table) -> str | None:
    """Return the target that the model's file names, if the table has such a column; else None."""
    target = target_in(model, table)
    return target if target and has_column(table, target) else None


def nobody(model: Model, options: AuditOptions) -> Population:
    """Return the people where there is no table: the leaves, as far as the file tells.

    Raises:
        TableError: the options name columns of a table.
    """
    for name in ("qi", "weights", "sampling_weights", "knows", "secret"):  # columns only rename
        if getattr(options, name) is not None:
            problem = (
                f"--{name.replace('_', '-')} names columns of a table, but no table was given; add "
                "--data TABLE, or remove it"
            )
            raise TableError(model.source, problem)
    named = options.sensitive
    if named is not None and model.target and named != model.target:
        problem = f"the sensitive column {named!r} is not the tree's target {model.target!r}; name that, or none"
        raise TableError(model.source, problem)
    from treewarden.audit.population.file_only_population import said_of  # without a table only

    return said_of(model, named).population


def _with_notes(error: TableError, tree: Model, options: AuditOptions) -> TableError:
    """Return the error with what was remarkable about the tree, as that may be why the table does not fit it.

    Where it says that there is no column of a name, the option that has this name is named too.
    """
    problem = error.problem
    for option in ("sensitive", "qi", "weights", "sampling_weights"):
        value = getattr(options, option)
        names = value if isinstance(value, tuple) else (value,)
        is_lacking = any(name and problem.startswith(f"no column {name!r}") for name in names)
        if is_lacking and (flag := flag_of(option)) not in problem:
            problem += f"; correct {flag}"
            break
    return TableError(error.where, problem, tree.notes)


# Which tables are counted instead of read, and over which of their columns.


def source_of(
    data: TableInput, model: Model, knowledge: Knowledge, *, is_one: bool
) -> TableSource | None:
    """Return a table to be counted; None where it is read, as it is small or its single records are needed.

    Of several releases (``is_one`` says there are none) the records are matched: a table without order is refused where
    it is read. Whoever knows the order of an ensemble's table may repeat what its trees drew, which is not seen where
    it is counted.

    Raises:
        TableError: it cannot be opened, or its order is known to the adversary and lost in counting.
    """
    if not is_one or isinstance(data, Table):
        return None
    has_order = isinstance(model, Ensemble) and knowledge.row_order is RowOrder.KNOWN
    if isinstance(data, TableAddress) or has_no_records(data):
        if has_order:
            problem = (
                "a folder, a pattern or a database has no known order of records, and this "
                "ensemble's sample depends on it"
            )
            what = "give one file, or add --row-order unknown if no adversary knows the order"
            raise TableError(data.name, f"{problem}; {what}")
        return _source(data)
    return None if has_order or not is_large(data) else _source(data)


def _source(data: Path | TableAddress) -> TableSource:
    from treewarden.ppdm_models.tables.counting.databases import open_source  # heavy: DuckDB

    return open_source(data)


def columns_needed(
    names: Sequence[str], model: Model, options: AuditOptions, knowledge: Knowledge
) -> Collection[str]:
    """Return those columns that an audit may need, by what the model and what was asked call them.

    All are where the file does not name what it predicts, as each may be that.
    """
    if not isinstance(model, Ensemble) and (not model.target or model.target in PLACEHOLDERS):
        return names
    asked = (model.target, options.sensitive, options.weights, options.sampling_weights)
    features = (feature.name for feature in model.features)
    wanted = [*features, *(options.qi or ()), *(name for name in asked if name)]
    wanted += [
        name
        for adversary in knowledge.adversaries
        if not isinstance(adversary.knows, str)
        for name in adversary.knows
    ]
    wanted += [] if knowledge.secret is None else [knowledge.secret.column]
    return alike(names, wanted)


def counted(
    source: TableSource, columns: Collection[str], build: Callable[[Table], Built]
) -> tuple[Table, Built]:
    """Return a table and what is built from it; a column that turns out to be needed too has it counted once more.

    Raises:
        TreewardenError: the table cannot be counted, or nothing can be built from it.
    """
    from treewarden.ppdm_models.tables.counting.source import count_table  # for what is counted

    known = set(columns)
    while True:
        table = count_table(source, known)
        try:
            return table, build(table)
        except ColumnNotCountedError as error:
            if error.problem in known:
                raise
            known.add(error.problem)
