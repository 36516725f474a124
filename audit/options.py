"""How to audit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """How to solve.

    ``door`` is auto, casadi or cyipopt; ``jobs`` processes (None: all cores), with the same answer for any number;
    ``time_limit`` in seconds (None: none). ``worlds`` says whether to reason over whole
    records too, for at most ``worlds_budget`` seconds; ``strict_ties`` that the learner is known to break ties against
    every candidate it did not take. ``integer_rows``: where exact, split rows are statements about whole records.
    """

    door: str = "auto"
    jobs: int | None = None
    time_limit: float | None = None
    integer_rows: bool = True
    worlds: bool = True
    worlds_budget: float = 20.0
    strict_ties: bool = False


DEFAULT = SolveOptions()
