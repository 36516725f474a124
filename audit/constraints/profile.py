"""The quasi-identifiers: the adversary knows the size of each group (Zhu & Du 2010, QI constraint)."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.rows import Case, Origin, ProfileTotals, Row


class Profile(Constraint):
    """Every profile's masses sum to its records."""

    needs_tree = False

    def rows(self, case: Case) -> Iterator[Row]:
        yield ProfileTotals(
            case.population.counts, Origin("profile", "the quasi-identifier columns of the table")
        )


CONSTRAINT = Profile()
