"""Which clauses are about a model: by its kind, by what it predicts, by the format of its file."""

from __future__ import annotations

from collections.abc import Collection

from treewarden.audit.evidence import Enough, Evidence
from treewarden.audit.measures import EvidenceSource, Measure, measured, measures
from treewarden.policies.clause import Atom, Clause, Given, Kind, Pack, Under
from treewarden.policies.judging.clause_evaluation import evaluate_clause, is_plain, of_worlds
from treewarden.policies.rules import rules
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Model

ADDED_UP = (Combination.SUM, Combination.WEIGHTED_SUM)
AVERAGED = (
    Combination.AVERAGE,
    Combination.WEIGHTED_AVERAGE,
    Combination.MEDIAN,
    Combination.WEIGHTED_MEDIAN,
    Combination.MAJORITY_VOTE,
    Combination.WEIGHTED_MAJORITY_VOTE,
)

KINDS = {
    "tree": "single trees",
    "forest": "forests",
    "boosted": "boosted models",
    "ensemble": "ensembles",
}
"""What the kinds of models are called."""
NOT_GIVEN: dict[Given, str] = {
    "population": "needs a register of candidates (--population FILE)",
    "totals": "needs a table of totals (--with FILE)",
}
OF_TARGET = frozenset(
    {
        EvidenceSource.TRUTH,
        EvidenceSource.WORLDS,
        EvidenceSource.ESTIMATE,
        EvidenceSource.TOGETHER,
        EvidenceSource.NUMBERS,
    }
)
"""What a measure reads that is about the values that the model predicts."""


def kinds_of(model: Model) -> frozenset[Kind]:
    """Return every kind that a model is; both of forest and boosted where the file does not tell them apart.

    A sum may be a forest whose trees were scaled before, so that a clause about either is judged.
    """
    if not isinstance(model, Ensemble):
        return frozenset({"tree"})
    parts = list(_ensembles(model))
    is_added = any(part.combination in ADDED_UP for part in parts)
    is_averaged = any(part.combination in AVERAGED for part in parts)
    is_boosted = is_added and any(
        part.shrinkage is not None or part.link is not Link.IDENTITY or any(part.base)
        for part in parts
    )
    if is_boosted and not is_averaged:
        return frozenset({"ensemble", "boosted"})
    if is_averaged and not is_added:
        return frozenset({"ensemble", "forest"})
    return frozenset({"ensemble", "forest", "boosted"})


def why_not(
    clause: Clause, model: Model, secret: str = "", *, extra_inputs: Collection[str] = ()
) -> str:
    """Return why a clause does not apply to a model, in words; "" where it does.

    ``secret`` is the column that is to stay secret, where that is not the target; ``extra_inputs`` are what was given
    beside the table, a register of candidates or tables of totals.
    """
    known, when = measures(), clause.when
    own = [atom.call.measure for atom in clause.atoms if _is_of_target(known[atom.call.measure])]
    if secret and len(own) == len(clause.atoms):
        return f"applies to what the model predicts only; the secret is {secret!r}"
    if when is None:
        return ""
    kinds = kinds_of(model)
    if not kinds & set(when.model):
        return f"applies to {_either([KINDS[kind] for kind in when.model])} only"
    if model.task.value not in when.task:
        return f"applies to {_either(when.task)} models only"
    if when.format and model.format not in when.format:
        return f"applies to files in {_either(when.format)} only; this one is in {model.format}"
    return next((NOT_GIVEN[needed] for needed in when.given if needed not in extra_inputs), "")


def _is_of_target(measure: Measure) -> bool:
    """Return whether a measure is about who has which class, and of everybody who knows the leaves the same."""
    if EvidenceSource.NUMBERS in measure.reads:
        return True
    return not measure.is_of_knowledge and bool(measure.reads & OF_TARGET)


def applying(
    pack: Pack, model: Model, secret: str = "", *, extra_inputs: Collection[str] = ()
) -> Pack:
    """Return the pack with the clauses alone that apply to a model; there may be none."""
    clauses = tuple(
        clause
        for clause in pack.clauses
        if not why_not(clause, model, secret, extra_inputs=extra_inputs)
    )
    return pack.model_copy(update={"clauses": clauses})


def assuming(pack: Pack, under: str) -> Pack:
    """Return the pack with the clauses alone that are judged under this knowledge; "" is what the audit assumes."""
    clauses = tuple(clause for clause in pack.clauses if clause.under_words == under)
    return pack.model_copy(update={"clauses": clauses})


def assumptions(pack: Pack) -> dict[str, tuple[Under, Pack]]:
    """Return the knowledge that clauses assume other than the audit does, by its words, with the clauses that do."""
    pack_assumptions = {
        clause.under_words: clause.under for clause in pack.clauses if clause.under is not None
    }
    return {words: (under, assuming(pack, words)) for words, under in pack_assumptions.items()}


def _ensembles(model: Ensemble) -> list[Ensemble]:
    """Return an ensemble and those in it."""
    ensembles, left = [], [model]
    while left:
        part = left.pop()
        ensembles.append(part)
        left += [member.model for member in part.members if isinstance(member.model, Ensemble)]
    return ensembles


def _either(words: tuple[str, ...] | list[str]) -> str:
    return " or ".join(words)


# When an audit may stop because the verdict is certain: whole records prove that the policy fails.
#
# A verdict is that of its worst clause, so that nothing else mends a clause that fails. It is never stopped for a pass.


def failing(pack: Pack) -> Enough | None:
    """Return what tells whether a clause fails by what whole records prove; None where none can be told by them alone.

    Nor where a clause reads both them and the estimate: how far to reason over them depends on the estimate then.
    """
    known = measures()
    reads = [known[atom.call.measure] for clause in pack.clauses for atom in clause.atoms]
    if any(read.is_of_worlds and EvidenceSource.ESTIMATE in read.reads for read in reads):
        return None
    telling = [each for each in pack.counting if is_plain(each) and of_worlds(each)]

    def fails(evidence: Evidence) -> bool:
        return any(_fails(clause.atom, evidence) for clause in telling)

    return fails if telling else None


def _fails(atom: Atom, evidence: Evidence) -> bool:
    reading = measured(atom.call, evidence).reading
    return rules()[atom.rule].judge(reading, atom.limit) is PolicyVerdict.FAIL


# When an audit may stop reasoning over whole records: once no clause that reads it can come out otherwise.
#
# What is proved of whole records only grows, and what is open only shrinks, so a reading only narrows; and a rule that
# passes or fails a reading as it is passes or fails whatever that narrows to. So does a combination, as none turns what
# is decided back into what is not.


def enough(pack: Pack, under: str = "") -> Enough:
    """Return what tells whether every clause that reads whole records is decided by what is known of them.

    Only clauses that are judged under this knowledge count.
    """
    clauses = [each for each in pack.clauses if each.under_words == under and of_worlds(each)]

    def is_enough(evidence: Evidence) -> bool:
        return all(_is_decided(clause, evidence) for clause in clauses)

    return is_enough


def _is_decided(clause: Clause, evidence: Evidence) -> bool:
    if why_not(clause, evidence.model, extra_inputs=evidence.extra_inputs):
        return True
    clause_evaluation = evaluate_clause(clause, evidence, lambda call: measured(call, evidence))
    return clause_evaluation.verdict is not PolicyVerdict.UNDETERMINED
