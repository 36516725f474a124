"""How an audit is done: one record whose fields are the flags of the command line and the keywords of Python."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from treewarden.audit.knowledge.knowledge import LeafLevel, RowOrder, SplitLevel
from treewarden.ppdm_models.tree.tree import Tool


class RowStatement(StrEnum):
    """How split rows are stated: about whole records where that is exact, or about shares as the papers do."""

    INTEGER = "integer"
    REAL = "real"


class Solver(StrEnum):
    """Which door to IPOPT is taken."""

    AUTO = "auto"
    CASADI = "casadi"
    CYIPOPT = "cyipopt"


@dataclass(frozen=True, slots=True)
class Says:
    """What a field means to whoever sets it, and what it may be.

    Numbers lie between ``low`` (not that itself where ``is_open``) and ``high``. ``metavar`` stands for the value in a
    synopsis, ``unset`` for what holds where nothing is given, ``kinds`` are the types that a value can have.
    """

    help: str
    kinds: frozenset[type]
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    is_open: bool = False
    metavar: str | None = None
    unset: str = ""

    def problem(self, value: object) -> str:
        """Return why a value cannot be, in words; "" where it can."""
        if value is None and not self.kinds & {bool}:
            return ""
        if self.choices and value not in self.choices:
            return f"one of {', '.join(self.choices)} is needed"
        if not self.choices and type(value) not in self.kinds:
            names = " or ".join(sorted(kind.__name__ for kind in self.kinds))
            return f"{names} is needed, not {type(value).__name__}"
        if isinstance(value, float) and math.isnan(value):
            return "a number is needed"
        if not isinstance(value, int | float) or isinstance(value, bool):
            return ""
        if self.low is not None and (value < self.low or (self.is_open and value == self.low)):
            return f"{'more than ' if self.is_open else 'at least '}{self.low:g} is needed"
        if self.high is not None and value > self.high:
            return f"at most {self.high:g} is possible"
        return ""


def option(default: object, help: str, *kinds: type, **says: Any) -> Any:  # noqa: A002, ANN401  # as dataclasses.field; the field is typed
    """Return a field with its default and what it says."""
    return field(
        default=default, metadata={"says": Says(help, frozenset(kinds or (type(default),)), **says)}
    )


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit can be asked, beside its files: who is who in the table, what is known, and how it is solved.

    Raises:
        ValueError: a value cannot be.
    """

    sensitive: str | None = option(
        None,
        "The sensitive column: the tree's target. Names it where the file does not.",
        str,
        metavar="COLUMN",
    )
    qi: tuple[str, ...] | None = option(
        None,
        "What the adversary knows of everyone. May be repeated; default: the model's fields.",
        tuple,
        metavar="COLUMN[,COLUMN...]",
    )
    weights: str | None = option(
        None, "How many people each row stands for.", str, metavar="COLUMN"
    )
    sampling_weights: str | None = option(
        None,
        "A survey's weights: each row is one person, and only the tree's numbers are weighed.",
        str,
        metavar="COLUMN",
    )
    leaf: LeafLevel = option(
        LeafLevel.AS_PUBLISHED,
        "What the adversary knows of each leaf.",
        choices=tuple(level.value for level in LeafLevel),
    )
    split: SplitLevel = option(
        SplitLevel.AS_PUBLISHED,
        "The criterion that the adversary knows the splits were chosen by.",
        choices=tuple(level.value for level in SplitLevel),
    )
    learner: Tool | None = option(
        None,
        "The program that grew the tree, where the file does not say it: it decides which splits were compared.",
        choices=tuple(tool.value for tool in Tool if tool is not Tool.UNKNOWN),
    )
    knows: tuple[str, ...] | None = option(
        None,
        "The columns that one more adversary knows of everyone, or one of: all, register, safe-harbour, neighbour, "
        "ex-spouse. May be repeated.",
        tuple,
        metavar="COLUMN[,COLUMN...]|PRESET",
    )
    secret: str | None = option(
        None,
        "The column to stay secret, where it is not the tree's target.",
        str,
        metavar="COLUMN",
    )
    bins: tuple[str, ...] | None = option(
        None,
        "Ends that part the numbers of the secret column. May be repeated.",
        tuple,
        metavar="NUMBER[,NUMBER...]",
    )
    target_known: bool = option(
        False, "The adversary of --knows knows the value of the target too."
    )
    marginal: bool = option(False, "The adversary knows each class's overall share.")
    accuracy: bool = option(False, "The adversary knows the training accuracy.")
    row_order: RowOrder = option(
        RowOrder.KNOWN,
        "Whether the adversary knows the order of the table's records: it lets draws be repeated from a seed.",
        choices=tuple(order.value for order in RowOrder),
    )
    solver: Solver = option(
        Solver.AUTO, "The door to IPOPT.", choices=tuple(solver.value for solver in Solver)
    )
    jobs: int | None = option(
        None,
        "Processes for the estimate and for questions about whole records; the result is the same for any number.",
        int,
        low=1,
        unset="all cores",
    )
    time_limit: float | None = option(
        None,
        "What is not solved by then is undetermined; for each estimate.",
        int,
        float,
        low=0,
        is_open=True,
        metavar="SECONDS",
    )
    rows: RowStatement = option(
        RowStatement.INTEGER,
        "State split choices over whole records where that is exact, or over shares as the papers do.",
        choices=tuple(rows.value for rows in RowStatement),
    )
    worlds: bool = option(
        True, "Whether to reason over whole records too: what is certain, not only likely."
    )
    worlds_budget: float = option(
        20.0,
        "What whole records prove beyond that is not decided.",
        int,
        float,
        low=0,
        high=1e9,
        metavar="SECONDS",
    )
    worlds_all: bool = option(
        False,
        "Reason on once the policy's verdict is decided, until everything is or the budget is used up.",
    )
    strict_ties: bool = option(
        False, "The learner is known to take the first of equally good splits, as ID3 does."
    )
    levels: bool = option(
        True,
        "Whether reports (other than text) say what each kind of published information adds.",
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            problem = each.metadata["says"].problem(value)
            if problem:
                raise ValueError(f"{each.name}: {value!r}: {problem}")


DEFAULT = AuditOptions()
KNOWLEDGE = ("leaf", "split", "learner", "marginal", "accuracy", "row_order")
"""The fields that a knowledge file answers instead."""
