"""What becomes of each column of a table that is randomised: hidden over a domain, published as it is, or left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from treewarden.ppdm_models.errors import DomainError, TableError
from treewarden.ppdm_models.methods.randomised.cells import Cells, domains_of_data
from treewarden.ppdm_models.methods.randomised.domains import Domain, load_domains
from treewarden.ppdm_models.tables.batches import Batches

MOST_NAMED = 12
NO_DOMAIN = (
    "declare it with --domains FILE, or take its least and largest value with --domain-from-data"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for; ``columns`` empty: those that hold numbers or have a declared domain.

    ``harmless`` columns may be published as they are, ``dropped`` ones are left out; ``label`` is the class, "" where
    there is none. Where no domain is declared, ``takes_domains_of_data`` says that it may be read off the data.
    """

    table: Path
    noise: str
    level: float
    confidence: float
    columns: tuple[str, ...] = ()
    label: str = ""
    domains: Path | None = None
    takes_domains_of_data: bool = False
    harmless: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def said(self) -> Iterator[tuple[str, str]]:
        """Every column that something is said of, with the option that says it."""
        yield from ((name, "--columns") for name in self.columns)
        yield from ((name, "--clear") for name in self.harmless)
        yield from ((name, "--drop") for name in self.dropped)
        if self.label:
            yield self.label, "--class"


@dataclass(frozen=True, slots=True)
class Roles:
    """The hidden columns by their domains, and what else is published; ``kept`` is all of it in the table's order."""

    domains: tuple[Domain, ...]
    kept: tuple[str, ...]
    clear: tuple[str, ...]
    harmless: tuple[str, ...]


def roles_of(table: Batches, wanted: Wanted) -> Roles:
    """Return what becomes of each column; the table is gone through once where domains are read off it.

    Raises:
        TableError: it lacks a column that is named, or has none to hide, or cannot be read.
        DomainError: a column is named twice, or lacks a domain, or the file of domains is not understood.
    """
    declared = {} if wanted.domains is None else load_domains(wanted.domains)
    _check_names(table, wanted, declared)
    first = next(table.read(table.names), None)
    if first is None:
        raise TableError(table.source, "the table has no records; give the table to be hidden")
    are_numeric = {
        name: Cells(table.source, name, 1, first.column(name)).is_numeric() for name in table.names
    }
    taken = {wanted.label, *wanted.harmless, *wanted.dropped}
    by_default = [
        name
        for name in table.names
        if name not in taken and (are_numeric[name] or name in declared)
    ]
    chosen = wanted.columns or by_default
    hidden = tuple(name for name in table.names if name in chosen)
    if not hidden:
        problem = "no column holds numbers or has a declared domain, so there is none to hide"
        raise TableError(table.source, f"{problem}; declare domains with --domains FILE")
    missing = [name for name in hidden if name not in declared]
    _check_domains(table, wanted, missing, are_numeric)
    known = declared | (domains_of_data(table, missing) if missing else {})
    kept = tuple(name for name in table.names if name not in wanted.dropped)
    return Roles(
        domains=tuple(known[name] for name in hidden),
        kept=kept,
        clear=tuple(name for name in kept if name not in hidden and name not in taken),
        harmless=tuple(name for name in kept if name in wanted.harmless),
    )


def _check_names(table: Batches, wanted: Wanted, declared: Mapping[str, Domain]) -> None:
    if "" in table.names:
        problem = (
            f"column {table.names.index('') + 1} has no name, as a data frame's index has none"
        )
        raise TableError(table.source, f"{problem}; write the table without it, or name it")
    have = ", ".join(map(repr, table.names[:MOST_NAMED]))
    more = ", ..." if len(table.names) > MOST_NAMED else ""
    by: dict[str, str] = {}
    for name, option in wanted.said:
        if name not in table.names:
            raise TableError(table.source, f"no column {name!r} ({option}); have {have}{more}")
        if name in by:
            problem = f"column {name!r} is in {by[name]} and in {option}"
            raise DomainError(table.source, f"{problem}; name it in one of them")
        by[name] = option
    for name in declared:
        if name not in table.names:
            where = f"{wanted.domains.name if wanted.domains else ''}: columns.{name}"
            raise DomainError(where, f"{table.source} has no such column; have {have}{more}")


def _check_domains(
    table: Batches, wanted: Wanted, missing: list[str], are_numeric: Mapping[str, bool]
) -> None:
    """Check that the columns without a declared domain can have one that is read off the data."""
    for name in missing:
        if not are_numeric[name]:
            problem = f"column {name!r} does not hold numbers, and no domain of it is declared"
            what = "list its values in their order with --domains FILE"
            raise DomainError(table.source, f"{problem}; {what} ([columns.{name}] values = [...])")
        if not wanted.takes_domains_of_data:
            problem = f"column {name!r} is to be hidden, and no domain of it is declared"
            what = f"{NO_DOMAIN}; or leave it out with --drop"
            raise DomainError(table.source, f"{problem}; {what}")
