"""When an audit may stop because the verdict is certain: whole records prove that the policy fails.

A verdict is that of its worst clause, so that nothing else mends a clause that fails. It is never stopped for a pass.
"""

from __future__ import annotations

from audit.evidence import Enough, Evidence
from audit.measures import Source, measured, measures
from policies.pack import Clause, Pack, asked
from policies.rules import rules
from policies.verdict import Verdict


def failing(pack: Pack) -> Enough | None:
    """Return what tells whether a clause fails by what whole records prove; None where none can be told by them alone.

    Nor where a clause reads both them and the estimate: how far to reason over them depends on the estimate then.
    """
    known = measures()
    of_worlds = [clause for clause in pack.clauses if known[clause.measure].is_of_worlds]
    if any(Source.ESTIMATE in known[clause.measure].reads for clause in of_worlds):
        return None
    errors = [clause for clause in of_worlds if clause.severity == "error"]

    def fails(evidence: Evidence) -> bool:
        return any(_fails(clause, evidence) for clause in errors)

    return fails if errors else None


def _fails(clause: Clause, evidence: Evidence) -> bool:
    reading = measured(asked(clause), evidence).reading
    return rules()[clause.rule].judge(reading, clause.limit) is Verdict.FAIL
