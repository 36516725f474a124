"""When an audit may stop reasoning over whole records: once no clause that reads it can come out otherwise.

What is proved of whole records only grows, and what is open only shrinks, so a reading only narrows; and a rule that
passes or fails a reading as it is passes or fails whatever that narrows to. So does a combination, as none turns what
is decided back into what is not.
"""

from __future__ import annotations

from treewarden.audit.evidence import Enough, Evidence
from treewarden.audit.measures import measured
from treewarden.policies.clause import Clause, Pack
from treewarden.policies.judging.applying import why_not
from treewarden.policies.judging.held import held, of_worlds
from treewarden.policies.verdict import Verdict


def enough(pack: Pack, under: str = "") -> Enough:
    """Return what tells whether every clause that reads whole records is decided by what is known of them.

    Only clauses that are judged under this knowledge count.
    """
    clauses = [each for each in pack.clauses if each.under_words == under and of_worlds(each)]

    def is_enough(evidence: Evidence) -> bool:
        return all(_is_decided(clause, evidence) for clause in clauses)

    return is_enough


def _is_decided(clause: Clause, evidence: Evidence) -> bool:
    if why_not(clause, evidence.model):
        return True
    found = held(clause, evidence, lambda asked: measured(asked, evidence))
    return found.verdict is not Verdict.UNDETERMINED
