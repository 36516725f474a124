"""When an audit may stop reasoning over whole records: once no clause that reads it can come out otherwise.

What is proved of whole records only grows, and what is open only shrinks, so a reading only narrows; and a rule that
passes or fails a reading as it is passes or fails whatever that narrows to.
"""

from __future__ import annotations

from audit.evidence import Enough, Evidence
from audit.measures import measured, measures
from policies.pack import Clause, Pack, asked
from policies.rules import rules
from policies.verdict import Verdict


def enough(pack: Pack) -> Enough:
    """Return what tells whether every clause that reads whole records is decided by what is known of them."""
    clauses = [clause for clause in pack.clauses if measures()[clause.measure].is_of_worlds]

    def is_enough(evidence: Evidence) -> bool:
        return all(_is_decided(clause, evidence) for clause in clauses)

    return is_enough


def _is_decided(clause: Clause, evidence: Evidence) -> bool:
    reading = measured(asked(clause), evidence).reading
    return rules()[clause.rule].judge(reading, clause.limit) is not Verdict.UNDETERMINED
