"""Compares two reports of the same files, or a report with its audit done again, section by section.

Whole records are reasoned over for a time, so two runs may prove more or less: readings agree where they overlap, and
what one run could not tell is open, neither agreement nor contradiction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.option_spec import Concern
from treewarden.audit.options import OPTION_SPECS, AuditOptions, options_about
from treewarden.audit.progress import Step, silent
from treewarden.jobs.attesting.alike import (
    OTHERWISE,
    ComparedItem,
    ComparisonOutcome,
    is_close,
    missing,
    same,
    values,
    verdicts,
)
from treewarden.jobs.attesting.keys import MalformedError
from treewarden.jobs.audit_inputs import ABOUT_DICTIONARY
from treewarden.jobs.audit_request import AuditFiles, Request
from treewarden.jobs.auditing import CommandClock, audit_file
from treewarden.jobs.inputs import file_of_source, told_table
from treewarden.policies.pack import load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.ppdm_models.errors import reading_problem
from treewarden.reports.building.build import audit_document
from treewarden.reports.building.facts import column_parts, told_meanings
from treewarden.reports.document.document import Document
from treewarden.reports.document.inferred_parts import Adversary, Ensemble, Values, Worlds
from treewarden.reports.document.packing import UnreadableReportError, read_document
from treewarden.reports.document.parts import Finding, Reading, TreeNode

# Compares the sections of two reports of the same files that are neither findings nor readings.
#
# Words follow from numbers: where all numbers are the same the words have to be. What takes as long as it is given
# (whole records, all trees together) is open where two runs come to something else, but for numbers that contradict
# each other.

LETTER = ("confidential", "rests_on", "not_judged", "dropped", "claims")
"""What follows from the files and from what was asked alone."""
WORDED = ("meaning", "lessons", "leaves", "leaves_broken")
"""What is worded from findings and readings."""
TIMED = ("worlds", "ensemble", "values")
"""What is worked out as far as a budget reaches."""
SOMETIMES = "over_trees"
"""What not every report of an ensemble tells: one that Python made leaves it out."""
NUMBERS = ("findings", "readings", "adversaries", *TIMED)
NOT_COMPARED = ("--posterior: ", f"{ABOUT_DICTIONARY}: ")
"""How a warning begins that is of a further file, which an audit done again may be without."""
FOUND = ("optimal", "closed form")


def sections(old: Document, new: Document) -> Iterator[ComparedItem]:
    """Yield how each section compares."""
    for name in LETTER:
        yield same(_words(name), is_close(_dumped(old, name), _dumped(new, name)))
    is_same_number = all(getattr(old, name) == getattr(new, name) for name in NUMBERS)
    follows = ComparisonOutcome.DIFFERS if is_same_number else ComparisonOutcome.OPEN
    for name in WORDED:
        yield same(_words(name), is_close(_dumped(old, name), _dumped(new, name)), follows)
    warned, warns = (
        [warning for warning in document.warnings if not warning.startswith(NOT_COMPARED)]
        for document in (old, new)
    )
    yield same("warnings", warned == warns, follows)
    yield from _tree(old, new, follows)
    yield from _levels(old, new)
    yield from _estimate(old, new)
    for name in TIMED:
        yield from _timed(f"section {name}", getattr(old, name), getattr(new, name))


def _tree(old: Document, new: Document, follows: ComparisonOutcome) -> Iterator[ComparedItem]:
    """Yield how the trees compare that are drawn: the tree itself, and what is marked in it."""
    is_same = [*map(_unmarked, old.tree)] == [*map(_unmarked, new.tree)]
    yield same(
        "tree", is_same and old.tree == new.tree, follows if is_same else ComparisonOutcome.DIFFERS
    )


def _unmarked(node: TreeNode) -> TreeNode:
    return node.model_copy(update={"risk": "none", "rank": None, "clauses": ()})


def _levels(old: Document, new: Document) -> Iterator[ComparedItem]:
    names = [[level.name for level in document.plots.levels] for document in (old, new)]
    yield same("levels of knowledge", names[0] == names[1])
    if names[0] == names[1]:
        for said, found in zip(old.plots.levels, new.plots.levels, strict=True):
            for each in ("guess_accuracy", "disclosure", "kl_overall"):
                compared = values(getattr(said, each), getattr(found, each))
                yield ComparedItem(f"reading {each} of the level {said.name}", *compared)


def _estimate(old: Document, new: Document) -> Iterator[ComparedItem]:
    """Yield how the estimates compare: by what is drawn of them, and by the entropy; how one was found may differ."""
    drawn = (document.plots.model_dump(mode="json", exclude={"levels"}) for document in (old, new))
    yield same("pictures", is_close(*drawn), ComparisonOutcome.OPEN)
    if old.solver is None or new.solver is None:
        yield same("estimate", old.solver is new.solver)
        return
    is_found = old.solver.status in FOUND and new.solver.status in FOUND
    is_same = is_close(old.solver.entropy, new.solver.entropy)
    yield same(
        "entropy of the estimate",
        is_same,
        ComparisonOutcome.DIFFERS if is_found else ComparisonOutcome.OPEN,
    )


def _timed(
    name: str, old: Worlds | Ensemble | Values | None, new: Worlds | Ensemble | Values | None
) -> Iterator[ComparedItem]:
    """Yield how a section compares; its summary has to be the same where its numbers are."""
    if old is None or new is None:
        if old is not new:
            yield missing(name, in_report=new is None)
        return
    said, found = (each.model_dump(mode="json") for each in (old, new))
    if not (said.get(SOMETIMES) and found.get(SOMETIMES)):
        said.pop(SOMETIMES, None)
        found.pop(SOMETIMES, None)
    numbers = [
        {key: each for key, each in one.items() if _is_number(each)} for one in (said, found)
    ]
    is_forged = is_close(*numbers) and old.summary != new.summary
    if isinstance(old, Worlds) and isinstance(new, Worlds):
        is_forged |= _contradict(old, new)
    yield same(
        name,
        is_close(said, found),
        ComparisonOutcome.DIFFERS if is_forged else ComparisonOutcome.OPEN,
    )


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def _contradict(old: Worlds, new: Worlds) -> bool:
    """Return whether one run is certain of more people than the other proves or leaves undecided."""
    if old.reason or new.reason:
        return False
    ends = [
        (float(worlds.records_certain), float(worlds.records_not_decided)) for worlds in (old, new)
    ]
    return max(low for low, _ in ends) > min(low + open_ for low, open_ in ends)


def _dumped(document: Document, name: str) -> object:
    return document.model_dump(mode="json", include={name})[name]


def _words(name: str) -> str:
    return name.replace("_", " ")


SAME = ("knowledge", "population", "policy", "model", "fail_on", "basis")
"""Parts of a report that say what was audited and how; they must come out to the letter."""
ASKED = ("measure", "parameters", "rule", "limit", "severity")
"""What of a finding its clause asks for."""
TOLD_BY_NUMBERS = ("value", "verdict", "message", "where", "parts")
"""What of a finding follows from what was read; all else says what was asked, and why."""
LACK = ("certain", "confidence", "guess_accuracy")


def compared(old: Document, new: Document) -> Iterator[ComparedItem]:
    """Yield how each thing that a report says compares with another report of the same files."""
    for name in SAME:
        yield same(name, getattr(old, name) == getattr(new, name))
    yield ComparedItem("verdict", *verdicts(old.verdict, new.verdict))
    if old.verdict == new.verdict:
        yield same("headline", (old.title, old.headline) == (new.title, new.headline))
    yield from _findings(old.findings, new.findings)
    # Another version may take other readings.
    is_version = old.provenance.version == new.provenance.version
    absent = ComparisonOutcome.DIFFERS if is_version else ComparisonOutcome.OPEN
    yield from _readings("", old.readings, new.readings, absent)
    yield from _adversaries(old.adversaries, new.adversaries)
    yield from sections(old, new)


def _findings(old: tuple[Finding, ...], new: tuple[Finding, ...]) -> Iterator[ComparedItem]:
    findings = {_called(finding): finding for finding in new}
    for said in old:
        found, name = findings.pop(_called(said), None), f"check {_called(said)}"
        if found is None:
            yield missing(name, in_report=True)
        elif any(getattr(said, each) != getattr(found, each) for each in ASKED):
            problem = "the report states another requirement than the policy"
            yield ComparedItem(name, ComparisonOutcome.DIFFERS, problem)
        else:
            yield ComparedItem(name, *verdicts(said.verdict, found.verdict))
            yield ComparedItem(f"{name}, measured value", *values(said.value, found.value))
            yield from _compare_words(name, said, found)
    for each in findings:
        yield missing(f"check {each}", in_report=False)


def _called(finding: Finding) -> str:
    return f"{finding.clause} of {finding.of}" if finding.of else finding.clause


def _compare_words(name: str, stated: Finding, again: Finding) -> Iterator[ComparedItem]:
    """Yield whether a finding is told in other words, or of other places though its numbers are the same."""
    is_same_number = (stated.verdict, stated.value) == (again.verdict, again.value)
    apart = ("where",) if is_same_number else TOLD_BY_NUMBERS
    if stated.model_copy(update={each: getattr(again, each) for each in apart}) != again:
        yield same(f"{name}, wording", is_same=False)
    elif is_same_number and stated.where != again.where:
        yield ComparedItem(f"{name}, its places", ComparisonOutcome.OPEN, "the report lists others")


def _readings(
    statement: str,
    old: Mapping[str, Reading],
    new: Mapping[str, Reading],
    absent: ComparisonOutcome,
) -> Iterator[ComparedItem]:
    """Yield how readings compare, by measure; ``absent`` is what it is where only one of two has one."""
    for name, reading in old.items():
        found, called = new.get(name), f"reading {name}{statement}"
        if found is None:
            yield missing(called, in_report=True, outcome=absent)
            continue
        yield ComparedItem(called, *values(reading, found))
        read = {each: getattr(found, each) for each in ("low", "high", "text", "reason")}
        if reading.model_copy(update=read) != found:
            yield same(f"{called}, its words", is_same=False)
    for name in new:
        if name not in old:
            yield missing(f"reading {name}{statement}", in_report=False, outcome=absent)


def _adversaries(old: tuple[Adversary, ...], new: tuple[Adversary, ...]) -> Iterator[ComparedItem]:
    adversaries = {adversary.name: adversary for adversary in new}
    for said in old:
        found = adversaries.pop(said.name, None)
        if found is None:
            yield missing(f"adversary {said.name}", in_report=True)
        else:
            yield from _adversary(f"adversary {said.name}", said, found)
    for each in adversaries:
        yield missing(f"adversary {each}", in_report=False)


def _adversary(name: str, old: Adversary, new: Adversary) -> Iterator[ComparedItem]:
    asked = [
        (adversary.knows, adversary.target_known, adversary.secret) for adversary in (old, new)
    ]
    if asked[0] != asked[1]:
        yield same(f"{name}, what is known and what is secret", is_same=False)
    yield ComparedItem(name, *verdicts(old.verdict, new.verdict))
    yield from _readings(f" of the {name}", old.readings, new.readings, ComparisonOutcome.DIFFERS)
    is_same_number = old.readings == new.readings
    if old.worst != new.worst and is_same_number:
        yield same(f"{name}, of whom most can be told", is_same=False)
    if old.shown != new.shown or old.worst != new.worst:
        yield ComparedItem(f"{name}, its people", ComparisonOutcome.OPEN, "the report lists others")
    if [lack.column for lack in old.lacking] != [lack.column for lack in new.lacking]:
        yield same(f"{name}, what each column is worth", is_same=False)
        return
    for said, found in zip(old.lacking, new.lacking, strict=True):
        for each in LACK:
            without = f"reading {each} of the {name} without {said.column}"
            yield ComparedItem(without, *values(getattr(said, each), getattr(found, each)))


# Checks a report by doing its audit again: whether the files are the same, and all results come out as it says.

MOST_BYTES = 256 * 1024 * 1024


def read_report(path: Path) -> Document:
    """Return the report in a JSON file.

    Raises:
        MalformedError: it is none, or none of an audit.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MOST_BYTES else b""
    except OSError as error:
        raise MalformedError(str(path), reading_problem(error, "give a report in JSON")) from error
    if size > MOST_BYTES:
        raise MalformedError(str(path), f"more than {MOST_BYTES:,} bytes; give a report in JSON")
    try:
        document = read_document(data)
    except UnreadableReportError as error:
        problem = "not a report in JSON; to write one, add --format json=audit.json to the audit"
        raise MalformedError(str(path), problem) from error
    if document.kind != "audit":
        raise MalformedError(
            str(path),
            "a report of a repair; audit the repaired model, and verify the report of that audit",
        )
    return document


def repeated(
    document: Document,
    model: Path,
    data: Path | None,
    policy: str | None,
    sensitive: str | None = None,
    step: Step = silent,
    dictionary: Path | None = None,
) -> Iterator[ComparedItem]:
    """Yield what agrees and what does not: the digests first, and if these agree all that an audit done again says.

    Labels of columns are words beside the results: what no ``dictionary`` or table says is open, and all else is
    compared under the labels of the report.

    Raises:
        TreewardenError: the report does not say enough to repeat it, a file cannot be read, or no audit is possible.
    """
    request = _request(document, model, data, policy, sensitive)
    request = replace(request, files=replace(request.files, dictionary=dictionary))
    digests = tuple(_digests(document, request))
    yield from digests
    if any(digest.outcome is ComparisonOutcome.DIFFERS for digest in digests):
        return
    clock = CommandClock()
    done = audit_file(request, step)
    told_ = clock.provenance(request, done.subject.pack, table=done.subject.table)
    audit = replace(done.audit, meanings=told_meanings(document))
    yield from compared(document, audit_document(audit, done.decision, told_))
    if document.columns:
        is_same = document.columns == column_parts(done.audit)
        is_given = dictionary is not None
        differs = ComparisonOutcome.DIFFERS if is_given else ComparisonOutcome.OPEN
        why = OTHERWISE if is_given else f"{OTHERWISE}; give the data dictionary with --dictionary"
        outcome, detail = (ComparisonOutcome.AGREES, "") if is_same else (differs, why)
        yield ComparedItem("labels of columns", outcome, detail)


def _request(
    document: Document, model: Path, data: Path | None, policy: str | None, sensitive: str | None
) -> Request:
    asked, where = document.provenance.asked, document.title
    if document.redacted_below is not None:
        raise MalformedError(
            where, "a redacted report does not contain its settings; verify the full report"
        )
    if document.provenance.earlier:
        problem = (
            "the report covers several releases, and verify repeats audits of one model; audit the "
            "releases again and compare the two reports"
        )
        raise MalformedError(where, problem)
    if asked is None:
        problem = "written by an older version, which did not store its settings; audit again"
        raise MalformedError(where, problem)
    if (data is None) != (document.basis == "file"):
        wanted = (
            "without a table; leave out --data"
            if data
            else "with a table; give the table with --data"
        )
        raise MalformedError(where, f"this audit was made {wanted}")
    try:
        options = AuditOptions(**_options(asked.options, sensitive))
        facts = [json.loads(fact) for fact in asked.facts]
        knowledge = Knowledge.model_validate(
            {
                **asked.knowledge,
                "facts": facts,
                "training": asked.training,
                "seeds": asked.seeds,
                "adversaries": list(map(json.loads, asked.adversaries)),
                "secret": json.loads(asked.secret) if asked.secret else None,
            }
        )
    except (ValueError, TypeError, RecursionError) as error:
        problem = f"the settings of the report cannot be read ({str(error).splitlines()[0]})"
        raise MalformedError(
            where, f"{problem}; use the report exactly as treewarden wrote it"
        ) from error
    if policy is None and document.policy.name not in shipped_packs():
        raise MalformedError(
            where,
            f"judged by the policy {document.policy.name!r}, which is not built in; give its file: --policy FILE",
        )
    files = AuditFiles(knowledge=knowledge)
    return Request(model, data, options, files, policy or document.policy.name)


ELSEWHERE = options_about(Concern.MACHINE, Concern.ADVERSARY)
"""What this machine has to say, and what the knowledge says already."""


def _options(stated: Mapping[str, object], sensitive: str | None) -> dict[str, Any]:
    """Return the options as they were given; which door and how many processes is for this machine to say."""
    if unknown := sorted(set(stated) - set(OPTION_SPECS)):
        raise ValueError(f"unknown option {unknown[0]!r}")
    options: dict[str, Any] = {
        name: value for name, value in stated.items() if name not in ELSEWHERE
    }
    if sensitive is not None:
        options["sensitive"] = sensitive
    return options


def _digests(document: Document, request: Request) -> Iterator[ComparedItem]:
    provenance = document.provenance
    yield _digest("model", provenance.model.sha256, file_of_source(request.model).sha256)
    if request.data is not None and provenance.table is not None:
        yield _digest("table", provenance.table.sha256, told_table(request.data).sha256)
    register = request.files.population
    if register is not None and provenance.candidates is not None:
        here = told_table(register).sha256
        yield _digest("register", provenance.candidates.sha256, here)
    assert isinstance(request.policy, str)
    pack = load_pack(request.policy)
    yield _digest("policy", provenance.pack.sha256, pack.digest)


def _digest(name: str, digest: str, here: str) -> ComparedItem:
    if digest == here:
        return ComparedItem(f"digest of the {name}", ComparisonOutcome.AGREES)
    use = "audited" if name == "model" else "used"
    problem = f"the {name} is not the one that was {use}; give that one, or audit again"
    digests = f"SHA-256 {digest:.16}... in the report, {here:.16}... here"
    return ComparedItem(
        f"digest of the {name}", ComparisonOutcome.DIFFERS, f"{problem} ({digests})"
    )
