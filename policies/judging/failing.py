"""When an audit may stop because the verdict is certain: whole records prove that the policy fails.

A verdict is that of its worst clause, so that nothing else mends a clause that fails. It is never stopped for a pass.
"""

from __future__ import annotations

from treewarden.audit.evidence import Enough, Evidence
from treewarden.audit.measures import Source, measured, measures
from treewarden.policies.clause import Atom, Pack
from treewarden.policies.judging.held import is_plain, of_worlds
from treewarden.policies.rules import rules
from treewarden.policies.verdict import Verdict


def failing(pack: Pack) -> Enough | None:
    """Return what tells whether a clause fails by what whole records prove; None where none can be told by them alone.

    Nor where a clause reads both them and the estimate: how far to reason over them depends on the estimate then.
    """
    known = measures()
    reads = [known[atom.call.measure] for clause in pack.clauses for atom in clause.atoms]
    if any(each.is_of_worlds and Source.ESTIMATE in each.reads for each in reads):
        return None
    telling = [each for each in pack.counting if is_plain(each) and of_worlds(each)]

    def fails(evidence: Evidence) -> bool:
        return any(_fails(clause.atom, evidence) for clause in telling)

    return fails if telling else None


def _fails(atom: Atom, evidence: Evidence) -> bool:
    reading = measured(atom.call, evidence).reading
    return rules()[atom.rule].judge(reading, atom.limit) is Verdict.FAIL
