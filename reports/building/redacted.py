"""The same document for readers who may not know who is in the table: without profiles, true values and small counts.

What may be said is chosen, and nothing else is carried over: a sentence that holds a number cannot be told from one
that holds a small count of people. Shares go with them, as a share of a number of people that is known is a count, and
so do counts of large groups of people whose rest may be small. The digest of a table would confirm whoever guesses its
values, as that of a model which is not to be published confirms its numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from treewarden.policies.verdict import requirement
from treewarden.ppdm_models.errors import (
    KnowledgeError,
    OutputError,
    OutputsError,
    SettingError,
    TableError,
    TreewardenError,
    UnsupportedOutputError,
    os_problem,
)
from treewarden.reports.document.document import (
    Attempt,
    Document,
    Knowledge,
    Population,
    Provenance,
    Repair,
    Side,
    its_own_words,
    without_counts,
)
from treewarden.reports.document.inferred_parts import Claim, Plots
from treewarden.reports.document.parts import (
    Accepted,
    AssumedKnown,
    File,
    Finding,
    Number,
    Piece,
    ProvedBySizes,
    Row,
    Value,
)
from treewarden.reports.document.words import count, counted, listed, sentence

LEAST = 10
"""Counts of people below this are left out where the policy has no smallest group of its own: ACRO's minimum."""

AS_PUBLISHED = "as-published"
GROUP_SIZE, AT_LEAST, ABOVE = "k_anonymity", "at_least", "above"
A_GROUP = 2
"""A policy that asks for fewer people than this asks for no group."""
LEFT_OUT = "left out of a redacted report"
OUTCOME = {"PASS": "met", "FAIL": "not met", "UNDETERMINED": "not decided"}
STEPS = (
    "The full report, which stays with the table, says where each check fails and what to do.",
    (
        "You may share this report, but that does not allow you to publish the model. Only a PASS "
        "allows that."
    ),
)


UNCOUNTED = "The file proves something about people that no check of this policy limits; the full report says how many."


def redacted(document: Document) -> Document:
    """Return the document without any profile, true value, or count of people below the policy's smallest group.

    Raises:
        OutputError: the whole table holds fewer people than that.
    """
    least = smallest_group(document)
    records = document.population.records
    table = document.provenance.table
    if table is not None and not isinstance(records, str) and records < least:
        problem = (
            f"the table has fewer than {count(least)} people, so no redacted report is possible; "
            "remove --redacted"
        )
        raise OutputError(table.name, problem)
    kept = {
        "confidential": (
            "Redacted: this report contains no group, no true value and no count below "
            f"{count(least)} people. The full report stays with the table."
        ),
        "redacted_below": least,
        "meaning": _meaning(document),
        "next_steps": STEPS,
        "unlimited": UNCOUNTED if document.unlimited else "",
        "assumed_known": _assumed(document.assumed_known),
        "lessons": (),
        "findings": tuple(_finding(finding, least) for finding in document.findings),
        "leaves": (),
        "leaves_broken": 0,
        "readings": {},
        "solver": None,
        "population": _population(document.population, least),
        "model": document.model.model_copy(update={"classes": (), "notes": (), "drawn": ""}),
        "knowledge": _knowledge(document.knowledge),
        "dropped": (),
        "warnings": (),
        "tree": (),
        "plots": Plots(),
        "worlds": None,
        "ensemble": None,
        "blame": None,
        "attacks": None,
        "values": None,
        "adversaries": tuple(
            adversary.model_copy(update={"readings": {}, "worst": (), "shown": (), "lacking": ()})
            for adversary in document.adversaries
        ),
        "columns": tuple(
            column.model_copy(update={"values": (), "values_left_out": 0, "all_labelled": False})
            for column in document.columns
        ),
        "claims": tuple(map(_claim, document.claims)),
        "provenance": _provenance(document),
        "repair": None if document.repair is None else _repair(document.repair),
    }
    return document.model_copy(update=kept)


def smallest_group(document: Document) -> int:
    """Return how many people a group must have so that its count may be told: what the policy asks of groups."""
    atoms: list[Finding | Piece] = [*document.findings]
    atoms += [part for finding in document.findings for part in finding.parts]
    limits = [
        math.floor(atom.limit) + 1 if atom.rule == ABOVE else math.ceil(atom.limit)
        for atom in atoms
        if atom.measure == GROUP_SIZE and atom.rule in (AT_LEAST, ABOVE)
        if isinstance(atom.limit, int | float)
    ]
    return max((limit for limit in limits if limit >= A_GROUP), default=LEAST)


def _meaning(document: Document) -> str:
    asked: dict[str, bool] = {}  # of several releases a demand is met where it is in each
    for finding in document.findings:
        if document.counts(finding) and finding.measure:
            asked[finding.clause] = asked.get(finding.clause, True) and finding.verdict == "PASS"
    met = sum(asked.values())
    checks = counted(len(asked), "required check", "required checks")
    are_met = f"{met or 'none'} {'is' if met < 2 else 'are'} met"
    return f"Of {checks} of the policy “{document.policy.name}”, {are_met}."


def _assumed(assumed: AssumedKnown | None) -> AssumedKnown | None:
    """Return the columns that were assumed known, and which of them follow of somebody, not of how many and where."""
    if assumed is None:
        return None
    names = dict.fromkeys(proved_by_sizes.column for proved_by_sizes in assumed.proved)
    proved = tuple(
        ProvedBySizes(column=name, people=None, text=f"{name}: {LEFT_OUT} of how many people")
        for name in names
    )
    return AssumedKnown(columns=assumed.columns, proved=proved, summary=without_counts(assumed))


def _finding(finding: Finding, least: int) -> Finding:
    outcome = OUTCOME[finding.verdict]
    shown = finding.value if _may_be_told(finding, least) else None
    release = f" of {finding.of}" if finding.of else ""
    words = f"Check{release} {outcome}: {finding.plain}"
    value = shown or Value(low=None, high=None, text=outcome, reason=LEFT_OUT)
    asks = f"; {requirement(finding.limit_text)}" if finding.measure else ""
    under = f" Checked as if an adversary knew {finding.under}." if finding.under else ""
    message = its_own_words(finding) or f"{words}{asks}.{under}"
    told = {"value": value, "message": message, "accepted": _accepted(finding.accepted)}
    return finding.model_copy(update={**told, "where": (), "parts": ()})


def _claim(claim: Claim) -> Claim:
    """Return what is claimed and what came of it: losses, and what labels show, are facts about the table."""
    told: dict[str, object] = {
        "reason": "",
        "p_value": None,
        "epsilon_used": _nothing(),
        "largest_loss": _nothing(),
    }
    told |= {"mean_loss": None, "people_at_epsilon": None, "losses": (), "losses_left_out": 0}
    return claim.model_copy(update={**told, "summary": sentence(f"the claim is {claim.outcome}")})


def _accepted(accepted: Accepted | None) -> Accepted | None:
    """Return by what it is accepted: the reason is in words of the owner, which may hold anything."""
    return None if accepted is None else accepted.model_copy(update={"reason": LEFT_OUT})


def _may_be_told(finding: Finding, least: int) -> bool:
    """Whether a value is the size of a large group, or says that something is true of nobody.

    How many people something is true of is not told, however many: of the others there may be few.
    """
    ends = (finding.value.low, finding.value.high)
    if finding.unit != "records":
        return False
    if finding.measure == GROUP_SIZE:
        return all(_says_many(end, least) for end in ends)
    return ends == (0, 0)


def _says_many(end: Number | None, least: int) -> bool:
    """Whether a count speaks of nobody or of a large enough group."""
    return not isinstance(end, str) and end is not None and (end == 0 or end >= least)


def _population(people: Population, least: int) -> Population:
    """Return the totals; how common each value is, is left out, as small counts follow from large ones."""
    said = people.records
    alike = 0 if isinstance(said, str) else said - people.profiles
    profiles = people.profiles if min(people.profiles, alike) >= least else 0
    shares = (Row(name="Records", text=said if isinstance(said, str) else count(said)),)
    return people.model_copy(update={"shares": shares, "profiles": profiles})


def _knowledge(knowledge: Knowledge) -> Knowledge:
    """Return what the adversary knows but for facts about people, which come last of the sentences."""
    others = knowledge.sentences[: len(knowledge.sentences) - len(knowledge.facts)]
    more = len(knowledge.facts)
    said = (
        (f"Also {counted(more, 'background fact', 'background facts')}: {LEFT_OUT}.",)
        if more
        else ()
    )
    return knowledge.model_copy(update={"facts": (), "sentences": (*others, *said)})


def _provenance(document: Document) -> Provenance:
    """Return where it comes from, with a model's digest only where exactly that file may be published."""
    provenance = document.provenance
    is_public = document.verdict == "PASS" and document.knowledge.leaf == AS_PUBLISHED
    model = (
        provenance.model if is_public and document.kind == "audit" else _unnamed(provenance.model)
    )
    written = (
        provenance.written
        if is_public or provenance.written is None
        else _unnamed(provenance.written)
    )
    table = None if provenance.table is None else _unnamed(provenance.table)
    before = tuple(
        earlier_files.model_copy(update={"table": _unnamed(earlier_files.table)})
        for earlier_files in provenance.earlier
    )
    register = None if provenance.candidates is None else _unnamed(provenance.candidates)
    outputs = tuple(map(_unnamed, provenance.outputs))
    kept = {"model": model, "table": table, "written": written, "asked": None, "earlier": before}
    return provenance.model_copy(update={**kept, "candidates": register, "outputs": outputs})


def _unnamed(file: File) -> File:
    return file.model_copy(update={"sha256": ""})


def _repair(repair: Repair) -> Repair:
    tried = sum(not attempt.not_audited for attempt in repair.attempts)
    left = len(repair.attempts) - tried
    passing = sum(attempt.verdict == "PASS" for attempt in repair.attempts)
    summary = f"{counted(tried, 'change was', 'changes were')} tried; {counted(passing, 'passes', 'pass')}."
    summary += f" {counted(left, 'more was', 'more were')} not audited in full." if left else ""
    return repair.model_copy(
        update={
            "message": summary,
            "summary": summary,
            "privacy": _nothing(),
            "before": _side(repair.before),
            "after": None if repair.after is None else _side(repair.after),
            "compared": (),
            "attempts": tuple(_attempt(attempt) for attempt in repair.attempts),
            "refusals": (),
            "advice": (),
            "utility": "",
        }
    )


def _side(side: Side) -> Side:
    return side.model_copy(update={"tree": ()})


def _attempt(tried: Attempt) -> Attempt:
    has_loss, has_utility = tried.loss_before is not None, tried.utility_before is not None
    return tried.model_copy(
        update={
            "title": ", then ".join(tried.remedies),
            "privacy": _nothing(),
            "predictions_changed": None,
            "predictions_changed_text": "–",
            "accuracy_before": _nothing(),
            "accuracy_after": _nothing(),
            "loss_before": _nothing() if has_loss else None,
            "loss_after": _nothing() if has_loss else None,
            "utility_before": _nothing() if has_utility else None,
            "utility_after": _nothing() if has_utility else None,
            "withheld": (),
            "problem": LEFT_OUT if tried.problem else "",
            "not_audited": LEFT_OUT if tried.not_audited else "",
        }
    )


def _nothing() -> Value:
    return Value(low=None, high=None, text="–", reason=LEFT_OUT)


# Why there was no audit, as a pipeline may say it: messages about a table may quote the people in it.

QUOTES_PEOPLE = (TableError, KnowledgeError, OutputsError)
"""Errors whose messages may hold a record, a value, a count of few people, or a fact about somebody."""
QUOTES_NOBODY = (UnsupportedOutputError, SettingError)
SETTING = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
NO_OUTPUT = "this published output cannot be used with the table"
AUDIT_COMMAND = "treewarden audit MODEL --data TABLE"
WHERE_IT_IS_TOLD = (
    "The cause is not shown here, because it could disclose data; to see it, run this where you have access to "
    f"the table: {AUDIT_COMMAND}"
)


def problem_of(error: BaseException, flags: Iterable[str] = ()) -> str:
    """Return why there was no audit, without what only those may read who may see the table.

    ``flags`` are settings that the message quotes, as far as its reader gave them.

    What the operating system says of a file is told, and so is what is wrong with a model, a policy or a setting.
    """
    is_quoting = isinstance(error, QUOTES_PEOPLE) and not isinstance(error, QUOTES_NOBODY)
    if is_quoting and not isinstance(error.__cause__, OSError):
        assert isinstance(error, QUOTES_PEOPLE)
        if isinstance(error, OutputsError):
            return f"{error.where}: {NO_OUTPUT}. {WHERE_IT_IS_TOLD}"
        what = "table" if isinstance(error, TableError) else "knowledge"
        settings = dict.fromkeys((*flags, *SETTING.findall(error.problem)))  # which quote nobody
        check = f"; check {listed(list(settings))}" if settings else ""
        problem = f"{error.where}: the {what} cannot be used with this model{check}"
        return f"{problem}. {WHERE_IT_IS_TOLD}"
    if isinstance(error, TreewardenError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {os_problem(error)}"
    return f"a bug in treewarden ({type(error).__name__}); please report it. {WHERE_IT_IS_TOLD}"
