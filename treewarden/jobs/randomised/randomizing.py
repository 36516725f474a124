"""Randomises a table: its file in, a new file with noise out, and what that discloses, judged by a policy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import treewarden
from treewarden.audit.progress import Step, silent
from treewarden.audit.randomised.measuring import randomisation_of
from treewarden.audit.randomised.result import Randomisation
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.finding import doubt
from treewarden.policies.judging.randomised import judge_randomised
from treewarden.policies.pack import Pack
from treewarden.policies.verdict import FindingKind, PolicyVerdict
from treewarden.ppdm_models.errors import DomainError, TableError
from treewarden.ppdm_models.methods.randomised.domains import (
    ColumnDomain,
    NoisyCells,
    domains_of_data,
    load_domains,
)
from treewarden.ppdm_models.methods.randomised.manifest import ColumnPlan, Manifest, planned
from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, Gaussian, Uniform
from treewarden.ppdm_models.methods.randomised.reconstruction import FEWEST_RECORDS
from treewarden.ppdm_models.methods.randomised.streaming import Hider
from treewarden.ppdm_models.tables.batches import Batches, batch_file, open_batches
from treewarden.reports.document.words import count, counted, listed

# Warnings about a table of noisy records, in addition to its verdict.

FOLLOWING_UNDETERMINED = 0.5
FOLLOWING_TOLD = 0.1
"""From which correlation of records with the next ones on their order is said to tell something."""
RELATED = 0.5

PRIVACY_OF = {
    Uniform.kind: "uniform noise gives no differential privacy, whatever its width",
    Gaussian.kind: (
        "noise of this size is not differential privacy; Gaussian noise gives some (epsilon, delta), "
        "but far less than its level suggests"
    ),
    ClassNoise.kind: "value classes are not noise: they give no differential privacy, and everybody's class is visible",
}


def warnings_of(randomisation: Randomisation, following: Mapping[str, float]) -> tuple[str, ...]:
    """Return the warnings in words; ``following`` is the correlation of records with the next ones, by column."""
    return tuple(_warnings(randomisation, following))


def _warnings(randomisation: Randomisation, following: Mapping[str, float]) -> Iterator[str]:
    for pair in randomisation.related:
        if abs(pair.correlation) > RELATED:
            yield (
                f"{pair.first!r} and {pair.second!r} are correlated ({pair.correlation:.2f}), so each "
                "discloses part of the other; see the width after the attack"
            )
    for name, correlation in following.items():
        if FOLLOWING_TOLD < abs(correlation) <= FOLLOWING_UNDETERMINED:
            yield (
                f"neighbouring records have similar values of {name!r} (correlation {correlation:.2f}), so their "
                "order discloses something; shuffle the table first"
            )
    if randomisation.label:
        yield (
            f"the class {randomisation.label!r} is published unchanged, and all figures assume that an attacker "
            "uses it"
        )
    if randomisation.clear:
        names = listed([repr(name) for name in randomisation.clear])
        yield (
            f"published unchanged, and not listed in --clear: {names}; hide them, leave them out with --drop, or list "
            "them in --clear"
        )
    for kind in dict.fromkeys(column.said.noise for column in randomisation.columns):
        yield PRIVACY_OF[kind]
    off_data = [
        repr(hidden_column.said.name)
        for hidden_column in randomisation.columns
        if hidden_column.said.domain == "data"
    ]
    if off_data:
        yield (
            f"the manifest publishes the smallest and the largest value of {listed(off_data)}; declare their domains "
            "instead with --domains"
        )
    for column in randomisation.columns:
        if column.missing:
            yield (
                f"{column.said.name!r} has no value in {counted(column.missing, 'record', 'records')}; these "
                "gaps are published, so everybody sees whose they are"
            )
    if randomisation.records < FEWEST_RECORDS:
        yield (
            f"{counted(randomisation.records, 'record', 'records')}, fewer than the {count(FEWEST_RECORDS)} needed to "
            "reconstruct distributions reliably"
        )


# What becomes of each column of a table that is randomised: hidden over a domain, published as it is, or left out.

MOST_NAMED = 12
NO_DOMAIN = (
    "declare the domain with --domains FILE, take it from the data with --domain-from-data, or leave out the column "
    "with --drop"
)


@dataclass(frozen=True, slots=True)
class RandomizeRequest:
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
    def options_of_columns(self) -> Iterator[tuple[str, str]]:
        """Every column that something is said of, with the option that says it."""
        yield from ((name, "--columns") for name in self.columns)
        yield from ((name, "--clear") for name in self.harmless)
        yield from ((name, "--drop") for name in self.dropped)
        if self.label:
            yield self.label, "--class"


@dataclass(frozen=True, slots=True)
class Roles:
    """The hidden columns by their domains, and what else is published; ``kept`` is all of it in the table's order."""

    domains: tuple[ColumnDomain, ...]
    kept: tuple[str, ...]
    clear: tuple[str, ...]
    harmless: tuple[str, ...]


def roles_of(table: Batches, randomize_request: RandomizeRequest) -> Roles:
    """Return what becomes of each column; the table is gone through once where domains are read off it.

    Raises:
        TableError: it lacks a column that is named, or has none to hide, or cannot be read.
        DomainError: a column is named twice, or lacks a domain, or the file of domains is not understood.
    """
    declared = {} if randomize_request.domains is None else load_domains(randomize_request.domains)
    _check_names(table, randomize_request, declared)
    first = next(table.read(table.names), None)
    if first is None:
        raise TableError(table.source, "the table has no records; give a table with records")
    are_numeric = {
        name: NoisyCells(table.source, name, 1, first.column(name)).is_numeric()
        for name in table.names
    }
    taken = {randomize_request.label, *randomize_request.harmless, *randomize_request.dropped}
    by_default = [
        name
        for name in table.names
        if name not in taken and (are_numeric[name] or name in declared)
    ]
    chosen = randomize_request.columns or by_default
    hidden = tuple(name for name in table.names if name in chosen)
    if not hidden:
        problem = "no column holds numbers or has a declared domain, so no noise can be added"
        raise TableError(table.source, f"{problem}; declare domains with --domains FILE")
    missing = [name for name in hidden if name not in declared]
    _check_domains(table, randomize_request, missing, are_numeric)
    column_domains = declared | (domains_of_data(table, missing) if missing else {})
    kept = tuple(name for name in table.names if name not in randomize_request.dropped)
    return Roles(
        domains=tuple(column_domains[name] for name in hidden),
        kept=kept,
        clear=tuple(name for name in kept if name not in hidden and name not in taken),
        harmless=tuple(name for name in kept if name in randomize_request.harmless),
    )


def _check_names(
    table: Batches, request: RandomizeRequest, declared: Mapping[str, ColumnDomain]
) -> None:
    if "" in table.names:
        problem = (
            f"column {table.names.index('') + 1} has no name (perhaps the index of a data frame)"
        )
        raise TableError(table.source, f"{problem}; name it, or write the table without it")
    have = ", ".join(map(repr, table.names[:MOST_NAMED]))
    more = ", ..." if len(table.names) > MOST_NAMED else ""
    by: dict[str, str] = {}
    for name, option in request.options_of_columns:
        if name not in table.names:
            raise TableError(
                table.source, f"no column {name!r} ({option}); the table has {have}{more}"
            )
        if name in by:
            problem = f"column {name!r} is in {by[name]} and in {option}"
            raise DomainError(table.source, f"{problem}; keep one of the two")
        by[name] = option
    for name in declared:
        if name not in table.names:
            where = f"{request.domains.name if request.domains else ''}: columns.{name}"
            raise DomainError(where, f"{table.source} has no such column; it has {have}{more}")


def _check_domains(
    table: Batches,
    randomize_request: RandomizeRequest,
    missing: list[str],
    are_numeric: Mapping[str, bool],
) -> None:
    """Check that the columns without a declared domain can have one that is read off the data."""
    for name in missing:
        if not are_numeric[name]:
            problem = f"column {name!r} does not hold numbers, and has no declared domain"
            what = "list its values in their order with --domains FILE"
            raise DomainError(table.source, f"{problem}; {what} ([columns.{name}] values = [...])")
        if not randomize_request.takes_domains_of_data:
            problem = f"column {name!r} has no declared domain"
            raise DomainError(table.source, f"{problem}; {NO_DOMAIN}")


@dataclass(frozen=True, slots=True)
class Randomised:
    """What was made of a table: its manifest, what it gives away, the verdict on that, and what to say besides.

    ``stamp`` is what would be another one if the table changed since.
    """

    manifest: Manifest
    randomisation: Randomisation
    decision: Decision
    warnings: tuple[str, ...]
    stamp: tuple[int, int, int]


def randomise(
    randomize_request: RandomizeRequest,
    pack: Pack,
    output: Path,
    written: Path,
    step: Step = silent,
) -> Randomised:
    """Write a table with noise into a new file ``written``, and judge it as what is called ``output`` later.

    Nothing of the table is kept: it passes by once, or twice where domains are read off it.

    Raises:
        TableError: the table cannot be read, lacks a column, or a cell of a hidden column holds no finite number; or it
            changed meanwhile.
        DomainError: the domains are not understood, or do not hold what is in the table.
        OutputError: the form of the output cannot hold a column.
        ValueError: there is no such noise, level or confidence.
    """
    table = open_batches(randomize_request.table)
    stamp = table.stamp()
    with step(f"looking at the columns of {table.source}"):
        roles = roles_of(table, randomize_request)
    plans = tuple(
        planned(
            domain, randomize_request.noise, randomize_request.level, randomize_request.confidence
        )
        for domain in roles.domains
    )
    hider = Hider(table, plans, roles.kept, randomize_request.label)
    form, delimiter = output.suffix.lower(), table.delimiter or ","
    with (
        step(f"hiding {len(plans)} columns of {table.source}"),
        batch_file(written, form, hider.schema, delimiter, hider.unlike) as file,
    ):
        for batch in hider.hidden():
            file.write(batch)
    table.check_unchanged(stamp)
    manifest = _manifest(randomize_request, roles, plans, hider.records, output.name, written)
    with step("attacking what is hidden"):
        randomisation = randomisation_of(
            manifest,
            hider.counts,
            hider.moments,
            hider.missing,
            has_too_many_classes=hider.labels.are_too_many,
        )
    decision = _doubting_order(judge_randomised(randomisation, pack), hider)
    said = warnings_of(randomisation, hider.following)
    return Randomised(manifest, randomisation, decision, said, stamp)


def _manifest(
    randomize_request: RandomizeRequest,
    roles: Roles,
    plans: tuple[ColumnPlan, ...],
    records: int,
    name: str,
    written: Path,
) -> Manifest:
    with written.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Manifest(
        version=treewarden.__version__,
        file=name,
        sha256=digest,
        records=records,
        columns=tuple(plan.hidden for plan in plans),
        clear=roles.clear,
        harmless=roles.harmless,
        label=randomize_request.label,
    )


def _doubting_order(decision: Decision, hider: Hider) -> Decision:
    """Return a decision that is no pass where the order of the records tells their values: nothing measures that."""
    telling = [
        name for name, found in hider.following.items() if abs(found) > FOLLOWING_UNDETERMINED
    ]
    if not telling:
        return decision
    reason = (
        f"the order of the records discloses their values of {telling[0]!r}: the mean of neighbours reveals them, "
        "however much noise there is; shuffle the records of the table first"
    )
    verdict = max(decision.verdict, PolicyVerdict.UNDETERMINED)
    return replace(
        decision,
        verdict=verdict,
        findings=(doubt(FindingKind.RECORD_ORDER, reason), *decision.findings),
    )
