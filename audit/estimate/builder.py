"""Collects the variables and rows of one program, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from treewarden.audit.estimate.blocks import Candidate
from treewarden.audit.ipopt.program import SMALLEST_MASS, Program
from treewarden.ppdm_models.tree.tree import Criterion


@dataclass(slots=True)
class ProgramBuilder:
    """Collects variables and rows of one program."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    scale: list[float] = field(default_factory=list)
    row_variables: list[int] = field(default_factory=list)
    row_weights: list[float] = field(default_factory=list)
    row_stops: list[int] = field(default_factory=lambda: [0])
    ends: list[tuple[float, float]] = field(default_factory=list)
    terms: list[tuple[int, int, float, float, float, float]] = field(default_factory=list)
    splits: list[tuple[float, float, float]] = field(default_factory=list)
    sums: dict[tuple[tuple[int, ...], float], int] = field(default_factory=dict)
    parts: dict[int, list[int]] = field(default_factory=dict)
    split_candidates: list[Candidate] = field(default_factory=list)
    is_impossible: bool = False

    def variable(self, start: float, upper: float = np.inf) -> int:
        """Add a variable and return its number."""
        self.lower.append(SMALLEST_MASS)
        self.upper.append(upper)
        self.start.append(max(start, SMALLEST_MASS))
        return len(self.start) - 1

    def row(
        self, variables: Sequence[int], weights: Sequence[float], low: float, high: float
    ) -> None:
        """Add a linear row."""
        self.row_variables.extend(variables)
        self.row_weights.extend(weights)
        self.row_stops.append(len(self.row_variables))
        self.ends.append((low, high))

    def total(self, variables: Sequence[int], constant: float) -> int | None:
        """Return a variable that equals a sum of variables and a constant; None where nothing in it is free."""
        if not variables:
            return None
        key = (tuple(variables), constant)
        if len(variables) == 1 and constant == 0:
            return variables[0]
        if key not in self.sums:
            number = self.variable(sum(self.start[i] for i in variables) + constant)
            self.parts[number] = list(variables)
            self.row([*variables, number], [1.0] * len(variables) + [-1.0], -constant, -constant)
            self.sums[key] = number
        return self.sums[key]

    def members(self) -> sparse.csr_matrix:
        """Return the masses that each variable sums, shape (variables, masses)."""
        n, n_mass = len(self.start), len(self.scale)
        found = [np.array([number], dtype=np.intp) for number in range(n_mass)]
        for number in range(n_mass, n):  # a total comes after all that it sums
            found.append(np.concatenate([found[i] for i in self.parts[number]]))
        ends = np.cumsum([0, *map(len, found)])
        masses = np.concatenate(found) if found else np.zeros(0, dtype=np.intp)
        return sparse.csr_matrix((np.ones(len(masses)), masses, ends), shape=(n, n_mass))

    def program(self, criterion: Criterion) -> Program:
        """Return what was collected, as arrays."""
        n_rows, n = len(self.ends), len(self.start)
        weights, variables = np.array(self.row_weights, dtype=float), np.array(self.row_variables)
        rows = sparse.csr_matrix((weights, variables, self.row_stops), shape=(n_rows, n))
        rows.sum_duplicates()
        terms = np.array(self.terms).reshape(-1, 6)
        splits = np.array(self.splits).reshape(-1, 3)
        ends = np.array(self.ends).reshape(-1, 2)
        return Program(
            criterion=criterion,
            scale=np.array(self.scale),
            start=np.array(self.start),
            lower=np.array(self.lower),
            upper=np.array(self.upper),
            rows=rows,
            low=ends[:, 0],
            high=ends[:, 1],
            term_row=terms[:, 0].astype(np.intp),
            term_variable=terms[:, 1].astype(np.intp),
            term_coefficient=terms[:, 2],
            term_scale=terms[:, 3],
            term_known=terms[:, 4],
            term_most=terms[:, 5],
            split_constant=splits[:, 0],
            split_limit=splits[:, 1],
            split_records=splits[:, 2],
            cost=np.zeros(n),
            split_linear=sparse.csr_matrix((len(splits), n)),
            is_impossible=self.is_impossible,
        )
