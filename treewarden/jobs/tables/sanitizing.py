"""Sanitises a table as a file: typed columns in, a table whose trees grow again from its bytes out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import treewarden
from treewarden.jobs.tables.whole_table import TextColumn, sorted_lines
from treewarden.policies.judging.clause_evaluation import Clauses
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import TableProposal
from treewarden.ppdm_models.errors import (
    LearnerError,
    PolicyError,
    RemedyError,
    RequirementError,
    TableError,
)
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import ANY, Response, of_classes, of_numbers
from treewarden.ppdm_models.methods.tpp.checks import (
    CONDITIONS,
    BrokenCondition,
    Scikit,
    differences,
)
from treewarden.ppdm_models.methods.tpp.checks import CRITERIA as SCIKIT_CRITERIA
from treewarden.ppdm_models.methods.tpp.sanitise import (
    AtLeastK,
    Diverse,
    GroupRequirement,
    Job,
    Sanitised,
    SanitisedTable,
    SizeStep,
    TreeLearner,
    sanitise,
)
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.read_table import read_table, read_table_bytes
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn, number_text
from treewarden.ppdm_models.tree.tree import Feature, Tree

MISSING = "(missing)"
"""The category that stands for no value."""

MOST_NUMBERS_AS_CLASSES = 20
"""A column of more different numbers than this is a quantity, not a set of classes."""


@dataclass(frozen=True, slots=True)
class SanitizeRequest:
    """What is asked for; ``criterion`` None: gini for classes, variance for numbers."""

    table: Path
    targets: tuple[str, ...]
    sensitive: str
    qi: tuple[str, ...]
    k: int | None
    l: float | None  # noqa: E741  # the name the notion has
    pack: Pack | None
    learner: str = "canonical"
    criterion: str | None = None
    multiway: bool = False
    sets: bool = False
    min_leaf: int = 1
    max_splits: int = 50
    as_published: bool = False


@dataclass(frozen=True, slots=True)
class TableToSanitise:
    """The table as it is sanitised: the attributes, one job per target, the sensitive column."""

    wanted: SanitizeRequest
    columns: Mapping[str, Column]
    jobs: tuple[Job, ...]
    sensitive: CategoricalColumn


def read_subject(sanitize_request: SanitizeRequest) -> TableToSanitise:
    """Read a table and check that what is asked for can be.

    Raises:
        RequirementError: the table is too small for k, or too uniform for l.
        TableError: the table cannot be read, or lacks a column.
        PolicyError: the policy demands nothing of groups.
        LearnerError: the learner does not fit a target.
    """
    table = read_table(sanitize_request.table)
    others = [
        name
        for name in table.columns
        if name not in (*sanitize_request.targets, sanitize_request.sensitive)
    ]
    names = sanitize_request.qi or tuple(others)
    for name in (*sanitize_request.targets, sanitize_request.sensitive):
        if name in names:
            raise TableError(
                table.source,
                f"column {name!r} is a target or sensitive, so it cannot be a quasi-identifier too; "
                "leave it out of --qi",
            )
    if not names:
        raise TableError(table.source, "there are no quasi-identifiers; name the columns with --qi")
    columns = {name: _attribute(table, name) for name in names}
    jobs = tuple(_job(table, sanitize_request, target) for target in sanitize_request.targets)
    needed = (
        "" if sanitize_request.l is None and sanitize_request.pack is None else "--l or --policy"
    )
    sensitive = _classes(table, sanitize_request.sensitive, needed)
    _check(table, sanitize_request, sensitive)
    return TableToSanitise(sanitize_request, columns, jobs, sensitive)


def sanitised(subject: TableToSanitise, progress: Callable[[SizeStep], None]) -> Sanitised:
    """Look for the largest trees whose table meets every demand.

    Raises:
        LearnerError: the learner grows no tree from this table, or not the same one every time from the start.
    """
    sanitize_request = subject.wanted
    demands: list[GroupRequirement] = []
    if sanitize_request.k is not None:
        demands.append(AtLeastK(sanitize_request.k))
    if sanitize_request.l is not None:
        demands.append(Diverse(sanitize_request.l))
    if sanitize_request.pack is not None:
        demands.append(Clauses(sanitize_request.pack))
    found = sanitise(
        subject.columns,
        subject.jobs,
        subject.sensitive,
        demands,
        max_splits=sanitize_request.max_splits,
        as_published=sanitize_request.as_published,
        progress=progress,
    )
    if len(found.steps) == 1 and not (found.steps[0].lack or found.steps[0].problems):
        _grows_at_all(subject)
    return found


def table_bytes(subject: TableToSanitise, best: SanitisedTable) -> bytes:
    """Return the sanitised table as CSV: attributes, targets, sensitive column.

    The records stand in the order of their values, as their old order would tell who is who.
    """
    sanitize_request, columns = subject.wanted, best.columns
    text_columns = {name: _cells(column) for name, column in columns.items()}
    text_columns |= {job.response.name: _response_cells(job.response) for job in subject.jobs}
    text_columns.setdefault(sanitize_request.sensitive, _cells(subject.sensitive))
    group_of = best.groups.group_of
    return b"".join(sorted_lines(text_columns, np.ones(len(group_of), np.int64), [group_of]))


def grown_from(
    data: bytes, subject: TableToSanitise, best: SanitisedTable
) -> list[BrokenCondition]:
    """Return how trees grown from the bytes of the table differ from those that are published with it."""
    table = read_table_bytes(data, subject.wanted.table.name)
    columns = {
        name: table.numbers(name)
        if isinstance(column, NumericColumn)
        else table.categories(name, column.categories)
        for name, column in best.columns.items()
    }
    broken_conditions: list[BrokenCondition] = []
    for job, tree in zip(subject.jobs, best.trees, strict=True):
        response = _again(table, job.response)
        learner = settled(job, subject)
        again = learner.growth(columns, response, best.step.splits).tree(best.step.splits)
        broken_conditions += differences(tree, again, learner.slack)
    return broken_conditions


def settled(job: Job, subject: TableToSanitise) -> TreeLearner:
    """Return the learner with what it made of the original attributes: columns, or those that are parted by sets."""
    return job.learner.growth(subject.columns, job.response, 0).learner


def _again(table: Table, response: Response) -> Response:
    if not response.classes:
        return of_numbers(response.name, table.numbers(response.name).numbers)
    column = table.categories(response.name, response.classes)
    return of_classes(response.name, column.codes, response.classes)


def _attribute(table: Table, name: str) -> Column:
    column = table.column(table.guessed(name))
    if isinstance(column, NumericColumn) or not column.missing.any():
        return column
    categories = tuple(sorted({*column.categories, MISSING}))
    names = (*column.categories, MISSING)  # the code of a missing value, -1, points to the last
    recode = np.array([categories.index(name) for name in names], dtype=np.int64)
    return CategoricalColumn(codes=recode[column.codes], categories=categories)


def _job(table: Table, sanitize_request: SanitizeRequest, target: str) -> Job:
    guessed = table.guessed(target)
    criterion = sanitize_request.criterion or (
        "variance" if _is_quantity(table, guessed) else "gini"
    )
    if criterion == "variance" and not guessed.numeric:
        problem = f"column {target!r} holds categories, and --criterion variance needs numbers"
        raise TableError(table.source, f"{problem}; choose gini, entropy or gain-ratio")
    if criterion == "variance":
        response = of_numbers(target, table.numbers(target).numbers)
    else:
        column = _classes(table, target, f"--criterion {criterion}")
        response = of_classes(target, column.codes, column.categories)
    return Job(_learner(sanitize_request, criterion), response)


def _learner(sanitize_request: SanitizeRequest, criterion: str) -> TreeLearner:
    if sanitize_request.learner == "canonical":
        return BestFirst(
            criterion,
            sanitize_request.multiway,
            sanitize_request.min_leaf,
            sets=sanitize_request.sets,
        )
    if criterion not in SCIKIT_CRITERIA or sanitize_request.multiway or sanitize_request.sets:
        option = "--multiway" if sanitize_request.multiway else "--sets"
        problem = f"--learner scikit-learn does not support {option}; leave it out"
        if criterion not in SCIKIT_CRITERIA:
            known = " or ".join(SCIKIT_CRITERIA)
            problem = (
                f"--learner scikit-learn does not support --criterion {criterion}; use {known}"
            )
        raise LearnerError("scikit-learn", f"{problem}, or use --learner canonical")
    return Scikit(criterion, sanitize_request.min_leaf)


def _is_quantity(table: Table, guessed: Feature) -> bool:
    if not guessed.numeric:
        return False
    return len(np.unique(table.numbers(guessed.name).numbers)) > MOST_NUMBERS_AS_CLASSES


def _classes(table: Table, name: str, asked_by: str) -> CategoricalColumn:
    """Return a column of classes, none missing; ``asked_by`` is what needs them to be few (empty: nothing does)."""
    if asked_by and _is_quantity(table, table.guessed(name)):
        raise TableError(
            table.source,
            f"column {name!r} holds more than {MOST_NUMBERS_AS_CLASSES} different numbers, and {asked_by} "
            "needs classes; name a column of classes, or divide the numbers into ranges",
        )
    column = table.categories(name)
    if column.missing.any():
        row = int(np.flatnonzero(column.missing)[0]) + 1
        raise TableError(
            table.source,
            f"column {name!r}, record {row}: the value is missing; remove such records",
        )
    return column


def _check(table: Table, request: SanitizeRequest, sensitive: CategoricalColumn) -> None:
    if request.pack is not None and not Clauses(request.pack).judged:
        raise PolicyError(
            request.pack.name,
            "no required check of the policy is about leaves, so it requires nothing of groups; add --k or --l instead",
        )
    if request.k is not None and request.k > table.rows:
        raise RequirementError(
            table.source, f"no group can hold {request.k:,} of {table.rows:,} records; lower --k"
        )
    if request.l is not None and not request.l < len(sensitive.categories):
        raise RequirementError(
            table.source,
            f"column {request.sensitive!r} has only {len(sensitive.categories)} values, so in every group one of them "
            f"has a share of at least 1/{len(sensitive.categories)}. --l {request.l:g} requires less than "
            f"1/{request.l:g}; lower --l",
        )


def _grows_at_all(subject: TableToSanitise) -> None:
    """Raise what keeps the learner from its first split, where that is not a lack of splits."""
    for job in subject.jobs:
        job.learner.growth(subject.columns, job.response, 1).tree(1)


def _cells(column: Column) -> TextColumn:
    """Return a column without missing values as text, each different value written once."""
    if isinstance(column, CategoricalColumn):
        return TextColumn(column.codes, column.categories)
    distinct, place = np.unique(column.numbers, return_inverse=True)
    return TextColumn(place.reshape(-1), [number_text(float(value)) for value in distinct])


def _response_cells(response: Response) -> TextColumn:
    if response.classes:
        return TextColumn(response.values, response.classes)
    return _cells(NumericColumn(response.values / response.per_unit))


# What is published beside a sanitised table, so that anyone can grow the same trees from it.

SCHEMA = "treewarden-sanitised/1"


def manifest(
    subject: TableToSanitise,
    best: SanitisedTable,
    files: Mapping[str, bytes],
    after_reading: Sequence[BrokenCondition],
) -> bytes:
    """Return the manifest as JSON: nothing in it tells more of the original table than the sanitised one does.

    ``files`` are the table first and then one tree per job. Neither a digest of the original nor the groups of larger
    trees are in it.
    """
    (table, data), *trees = files.items()
    said = {
        "schema": SCHEMA,
        "version": treewarden.__version__,
        "table": {"file": table, "sha256": _digest(data), "records": int(best.groups.sizes.sum())},
        "columns": [_column(name, column, best) for name, column in best.columns.items()],
        "targets": list(subject.wanted.targets),
        "sensitive": subject.wanted.sensitive,
        "trees": [
            {
                "file": name,
                "sha256": _digest(written),
                "target": job.response.name,
                "leaves": leaves,
                "ties": ties,
                "learner": _learner_of_manifest(job, subject, best.step.splits),
            }
            for (name, written), job, leaves, ties in zip(
                trees, subject.jobs, best.step.leaves, best.step.ties, strict=True
            )
        ],
        "demanded": _demanded(subject),
        "found": {
            "k": best.step.k,
            "groups": best.step.groups,
            "most_frequent_share": best.step.largest_share,
        },
        "checks": _checks((*best.step.problems, *after_reading)),
    }
    return (json.dumps(said, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _column(name: str, column: Column, best: SanitisedTable) -> dict[str, Any]:
    if isinstance(column, CategoricalColumn):
        return {"name": name, "kind": "categories", "values": list(column.categories)}
    values = sorted(set(column.numbers.tolist()))
    return {
        "name": name,
        "kind": "number",
        "values": values,
        "true_values_beside_splits": name in best.step.anchored,
    }


def _learner_of_manifest(job: Job, subject: TableToSanitise, splits: int) -> dict[str, Any]:
    """Return all that it takes to grow the tree again, in the order of the columns above."""
    learner, stop = settled(job, subject), {"splits": splits, "never_singled_out": ANY}
    if isinstance(learner, BestFirst):
        own = {
            "name": "treewarden best-first",
            "criterion": learner.criterion,
            "multiway": learner.multiway,
            "sets": list(learner.set_attributes or ()),
            "min_leaf": learner.min_leaf,
            "min_records": learner.min_records,
            "max_depth": learner.max_depth,
            "ties": "the first column, then the lowest cut or the first category; of sets, the one whose first "
            "differing category is not beside the node's first",
        }
        return {**own, **stop}
    if not isinstance(learner, Scikit):
        raise TypeError(f"no description of {type(learner).__name__}")
    return {
        "name": "scikit-learn",
        "criterion": learner.criterion,
        "min_leaf": learner.min_leaf,
        "min_records": learner.min_records,
        "same_under_seeds": list(learner.seeds),
        "matrix": [
            place.attribute if place.category is None else f"{place.attribute} = {place.category}"
            for place in learner.places
        ],
        **stop,
    }


def _demanded(subject: TableToSanitise) -> dict[str, Any]:
    sanitize_request = subject.wanted
    said: dict[str, Any] = {"k": sanitize_request.k, "l": sanitize_request.l, "policy": None}
    if sanitize_request.pack is not None:
        clauses = Clauses(sanitize_request.pack)
        said["policy"] = {
            "name": sanitize_request.pack.name,
            "sha256": sanitize_request.pack.digest,
            "judged": [clause.id for clause in clauses.judged],
            "not_judged": list(clauses.not_judged),
        }
    return said


def _checks(problems: Sequence[BrokenCondition]) -> dict[str, Any]:
    found = {
        name: [problem.words for problem in problems if problem.condition == name]
        for name in CONDITIONS
    }
    return {"holds": not problems, "problems": found}


# The sanitised table that a repair publishes beside its tree, as a file from which that tree was seen to grow.


def table_beside(tree: Tree, data: Path, pack: Pack, proposal: TableProposal) -> bytes:
    """Return the table that goes with a proposal for a tree grown on ``data``.

    Raises:
        RemedyError: a value is missing, which no file of this form says, or the tree does not grow from the file.
    """
    best = proposal.sanitised
    for name, column in best.columns.items():
        if column.missing.any():
            problem = f"column {name!r} lacks values; use “treewarden sanitize”, which treats them as a category"
            raise RemedyError(data.name, problem)
    table = matched(tree, read_table(data), sensitive=tree.target).table
    target = table.categories(tree.target, tree.classes)
    learner = BestFirst(
        str(tree.learner.criterion),
        bool(tree.learner.multiway),
        tree.learner.min_leaf_records,
        max_depth=tree.depth,
    )
    job = Job(learner, of_classes(tree.target, target.codes, target.categories))
    sanitize_request = SanitizeRequest(
        table=data,
        targets=(tree.target,),
        sensitive=tree.target,
        qi=tuple(best.columns),
        k=None,
        l=None,
        pack=pack,
    )
    subject = TableToSanitise(sanitize_request, best.columns, (job,), target)
    written = table_bytes(subject, best)
    if grown_from(written, subject, best):
        raise RemedyError(data.name, "training on the written table does not give the same tree")
    return written
