"""Which rows a proof truly rests on: those without which it fails, found by leaving out one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from treewarden.audit.worlds.clock import Clock
from treewarden.audit.worlds.proofs.linear import Program, Rows
from treewarden.audit.worlds.proofs.relax import Scope

MOST_TRIED = 24
"""Rows that are tried at most, so that a proof is not much dearer for being explained."""
Proof = tuple[tuple[int, int], int, int]
"""A cell (position, class), a sign and the target: ``sign * cell >= target``."""


def needed(scope: Scope, proof: Proof, says: Sequence[str], clock: Clock) -> tuple[str, ...]:
    """Return those of the rows (in words, the strongest first) that the linear proof below a node needs.

    Where the rows prove it only together with whole-number reasoning, all of them are returned.
    """
    kept = list(says)
    if len(kept) < 2 or len(kept) > MOST_TRIED or not _proves(scope, proof, kept, clock):
        return tuple(says)
    for said in reversed(says):
        if clock.is_over:
            break
        fewer = [other for other in kept if other != said]
        if _proves(scope, proof, fewer, clock):
            kept = fewer
    return tuple(kept)


def _proves(scope: Scope, proof: Proof, says: Sequence[str], clock: Clock) -> bool:
    """Return whether the rows of these names, with those that have none, prove it; in exact arithmetic."""
    cell, sign, target = proof
    span = scope.facts.span(scope.node)
    rows = _only(scope.rows, set(says))
    program = Program(rows, scope.bounds.low[span], scope.bounds.high[span])
    status, _, duals = program.solve(cell, sign, clock.left)
    if status == "infeasible":
        return program.farkas(clock.left) is not None
    return status == "optimal" and program.bound(cell, sign, duals) >= target


def _only(rows: Rows, says: set[str]) -> Rows:
    """Return the rows of these names, and those that have none."""
    kept = [k for k, said in enumerate(rows.says) if not said or said in says]
    return Rows(
        rows.m,
        rows.start,
        rows.counts,
        [rows.says[k] for k in kept],
        [rows.low[k] for k in kept],
        [rows.high[k] for k in kept],
        [rows.columns[k] for k in kept],
        [rows.weights[k] for k in kept],
    )
