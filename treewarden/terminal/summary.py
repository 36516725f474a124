"""What a terminal shows of an audit: the verdict, what an adversary can learn, the checks, and what to type next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from treewarden.policies.verdict import FindingKind
from treewarden.reports.document.document import (
    FOR_SOME,
    Document,
    accepted_undecided,
    summary_of,
)
from treewarden.reports.document.parts import Finding
from treewarden.reports.document.words import (
    Word,
    count,
    counted,
    listed,
    printable,
    sentence,
    wrapped,
)
from treewarden.reports.figures.finding_rows import (
    NOT_JUDGED,
    adversary_rows,
    learned_facts,
    table_statements,
    told_once,
)
from treewarden.terminal.check_table import (
    MOST_NOTE_LINES,
    UNKNOWN,
    VERBOSE,
    check_words,
    cut_line,
    few_lines,
    named_lines,
    row_of,
    table_lines,
)
from treewarden.terminal.outputs import NextStep, step_lines

MOST_LINES = 30
"""A failing audit has no more lines than that; rows that do not fit are counted."""
FEWEST_ROWS = 1
MOST_ADVERSARIES = 4
MOST_CLAIMS = 4
MOST_CLAIM_LINES = 3
ALONE = "No table was given, so the numbers in the file were not checked."


def summary_lines(document: Document, steps: Sequence[NextStep], about: str = "") -> list[str]:
    """Return the lines for an audit's report; ``about`` is the column that is to stay secret, "" where it has no name.

    A failing audit has at most ``MOST_LINES`` lines where paths are not too long for one each.
    """
    lines = list(_lines(document, steps, about))
    if len(lines) > MOST_LINES:
        lines = list(
            _lines(document, steps, about, len(document.findings), with_warning_words=True)
        )
    for most in range(len(document.findings), FEWEST_ROWS - 1, -1):
        if len(lines) <= MOST_LINES:
            break
        lines = list(_lines(document, steps, about, most))
    return lines


def _lines(
    document: Document,
    steps: Sequence[NextStep],
    about: str,
    most: int | None = None,
    *,
    with_warning_words: bool = False,
) -> Iterator[str]:
    """Yield the lines; with ``most``, no more rows of checks than that, and warnings in one list.

    That list has names only, unless ``with_warning_words`` adds what each measures.
    """
    yield from _opening(document)
    if document.verdict != "PASS":
        yield from _facts(document, about)
        yield from _claims(document)
        yield from _adversaries(document)
        yield from _checks(document, most, with_warning_words=with_warning_words)
    else:
        yield from _claims(document)
        yield from _accepted(document)
    yield from _notes(document, MOST_NOTE_LINES if most is None else 1)
    yield from step_lines(steps)


# The verdict, in one line that can be acted on, and what it rests on.


def _opening(document: Document) -> Iterator[str]:
    name, policy = printable(document.model.file), f"the policy “{printable(document.policy.name)}”"
    if document.verdict == "PASS":
        alone = ", if the numbers in its file are correct" if document.basis == "file" else ""
        but = (
            ", except for the accepted findings"
            if any(f.accepted for f in document.findings)
            else ""
        )
        yield f"PASS: {name} meets {policy}{but}{alone}."
        for words in accepted_undecided(document.findings):
            yield from wrapped(f"Accepted although failed: {printable(words)}.", "  ", "    ")
    elif document.verdict == "FAIL":
        yield f"FAIL: Do not publish {name}."
    else:
        yield f"UNDETERMINED: Do not publish {name}. The audit could not decide. Treat this as a FAIL."
    for words in table_statements(document):
        yield from wrapped(words, "  ")
    yield from wrapped(_counts(document), "  ")
    if document.basis == "file":
        yield f"  {ALONE}"
    elif document.verdict == "PASS":
        yield from wrapped(_scope(document), "  ")
    if document.unlimited:
        yield from wrapped(printable(f"Note: {document.unlimited}"), "  ", "    ")
    if _tells_sizes(document):
        said = summary_of(document)
        _, sizes, proved = said.partition(FOR_SOME)
        is_named = document.verdict == "PASS" and document.basis != "file"
        yield from wrapped(sentence(f"{sizes}{proved}" if is_named and proved else said), "  ")
    if document.redacted_below is not None:
        yield from wrapped(f"[{document.confidential}]", "  ")
    elif document.basis == "file":
        yield "  [Confidential until the model is published.]"
    else:
        yield from wrapped(
            f"[Confidential: keep this output with the table.{_not_judged(document)}]", "  "
        )


def _not_judged(document: Document) -> str:
    """Return that membership was not judged; "" where it was, or where a check or the scope says so."""
    names = [finding.clause for finding in document.findings]
    names += [clause.name for clause in document.not_judged]
    is_said = document.verdict == "PASS" or any(name.startswith("membership") for name in names)
    if document.provenance.candidates is not None or is_said:
        return ""
    return " Membership is not judged without --population."


def _tells_sizes(document: Document) -> bool:
    """Return whether columns that were assumed known need a line of their own, as the scope of a pass names others."""
    assumed_known = document.assumed_known
    if assumed_known is None:
        return False
    others = set(assumed_known.columns) - set(document.population.quasi_identifiers)
    if document.verdict != "PASS":
        return document.verdict == "UNDETERMINED" and bool(assumed_known.proved)
    return bool(assumed_known.proved or others)


def _counts(document: Document) -> str:
    """Return how the checks came out: required and advisory ones apart, each check once."""
    required = _outcomes(document, lambda finding: document.counts(finding))
    advisory = _outcomes(document, lambda finding: not document.counts(finding))
    policy = f"of the policy “{document.policy.name}”"
    if not required:
        said = [f"The policy “{document.policy.name}” has no required check for this model"]
    else:
        said = [f"{_share(required, document.verdict)} {policy} {_outcome(document.verdict)}"]
        if document.verdict not in required.values():  # a doubt about the files decides
            said = [f"{_share(required, 'PASS')} {policy} passed, but the files leave a doubt"]
        undecided = list(required.values()).count("UNDETERMINED")
        if document.verdict == "FAIL" and undecided:
            said.append(f"{count(undecided)} could not be decided")
    raised = [name for name, verdict in advisory.items() if verdict != "PASS"]
    if raised:
        checks = counted(len(advisory), "advisory check", "advisory checks")
        told = [
            f"{name} (not decided)" if advisory[name] == "UNDETERMINED" else name for name in raised
        ]
        names = f": {', '.join(told)}" if document.verdict == "PASS" else ""
        said.append(f"{len(raised)} of {checks} did not pass{names}")
    return f"{'. '.join(said)}."


def _outcomes(document: Document, is_of: Callable[[Finding], bool]) -> dict[str, Word]:
    """Return the worst verdict of each check of a kind; what is accepted passes, doubts about files are no checks."""
    worst: Sequence[Word] = ("PASS", "UNDETERMINED", "FAIL")
    outcomes: dict[str, Word] = {}
    for finding in document.findings:
        if finding.measure and is_of(finding):
            verdict: Word = "PASS" if finding.accepted is not None else finding.verdict
            before = outcomes.get(finding.clause, "PASS")
            outcomes[finding.clause] = max(before, verdict, key=worst.index)
    return outcomes


def _share(outcomes: dict[str, Word], verdict: Word) -> str:
    number = list(outcomes.values()).count(verdict)
    return f"{count(number)} of {counted(len(outcomes), 'required check', 'required checks')}"


def _outcome(verdict: Word) -> str:
    return {"PASS": "passed", "FAIL": "failed", "UNDETERMINED": "could not be decided"}[verdict]


def _scope(document: Document) -> str:
    """Return for which adversary a pass holds."""
    names = document.population.quasi_identifiers
    if not names:
        return "The PASS covers an adversary who has this file, and no adversary who knows more."
    return (
        f"The PASS covers an adversary who has this file and knows these columns of everyone: "
        f"{_first_names(names)}. {_uncovered(document)}"
    )


def _uncovered(document: Document) -> str:
    """Return what a pass does not cover; with a register, who was in the table was judged."""
    if document.provenance.candidates is None:
        return (
            "Not covered: disclosure of these columns, adversaries who know more, "
            "and membership in the table."
        )
    return "Not covered: disclosure of these columns, and adversaries who know more."


def _first_names(names: Sequence[str], most: int = 8) -> str:
    rest = [f"{len(names) - most:,} more"] if len(names) > most else []
    return listed([*names[:most], *rest])


# What an adversary can learn: three facts, each with its figure in front.


def _facts(document: Document, about: str) -> Iterator[str]:
    # What was not judged stands beside the verdict, and takes no line here.
    facts = [fact for fact in learned_facts(document) if fact.figure and fact.figure != NOT_JUDGED]
    if not facts:
        return
    known = document.population.quasi_identifiers
    who = "an adversary"
    if known:
        columns = counted(len(known), "column", "columns")
        who += f" who knows {columns} of everyone"
    what = f" about “{printable(about)}”" if about else ""
    yield ""
    yield from wrapped(f"What {who} can learn{what}:")
    width = max(len(fact.figure) for fact in facts)
    for fact in facts:
        lines = wrapped(f"{fact.figure:{width}}  {fact.words}", "  ", " " * (width + 4))
        yield from few_lines(lines, 1 if fact.figure == UNKNOWN else MOST_NOTE_LINES)
    if document.ensemble is not None:
        for difference in document.ensemble.differences[:1]:
            yield from few_lines(wrapped(difference, "  ", "    "))


def _claims(document: Document) -> Iterator[str]:
    """Yield what came of each claim of differential privacy."""
    if not document.claims:
        return
    yield ""
    yield "Claim of differential privacy"
    for claim in document.claims[-MOST_CLAIMS:]:
        of = f"{claim.of}: " if claim.of else ""
        epsilon = claim.words.partition(",")[0]
        head = f"{of}{claim.outcome.upper()}{f' ({epsilon})' if epsilon else ''}. {claim.summary}"
        yield from few_lines(wrapped(printable(head), "  ", "    "), MOST_CLAIM_LINES)
    if len(document.claims) > MOST_CLAIMS:
        yield f"  and {len(document.claims) - MOST_CLAIMS} more ({VERBOSE})"


def _adversaries(document: Document) -> Iterator[str]:
    """Yield a line for each adversary that was asked about, where there are several."""
    if not document.adversaries:
        return
    yield ""
    yield "Adversaries"
    rows = adversary_rows(document.adversaries)
    for row in rows[:MOST_ADVERSARIES]:
        is_plain = row.name.startswith(("who knows ", "knows "))
        name = "" if is_plain else f"{printable(row.name)}: "
        yield cut_line(f"  {row.verdict:12}  {name}knows {printable(row.knows)}")
    if len(rows) > MOST_ADVERSARIES:
        yield f"  and {len(rows) - MOST_ADVERSARIES} more ({VERBOSE})"


# The checks: one line each of those that failed or warn, then the others by name.


def _checks(document: Document, most: int | None, *, with_warning_words: bool) -> Iterator[str]:
    once = told_once(finding for finding in document.findings if finding.accepted is None)
    failed, undecided, warned = [], [], []
    for told_finding in once:
        finding = told_finding.finding
        if finding.verdict == "PASS":
            continue
        if not document.counts(finding):
            warned.append(told_finding)
        elif finding.verdict == "FAIL":
            failed.append(told_finding)
        else:
            undecided.append(told_finding)
    open_rows = [told_finding for told_finding in undecided if _has_value(told_finding.finding)]
    rows = {
        "Failed": [row_of(told_finding, document) for told_finding in failed],
        "Not decided": [row_of(told_finding, document) for told_finding in open_rows],
        "Warning": [row_of(told_finding, document) for told_finding in warned if most is None],
    }
    yield from table_lines(rows, len(document.findings) if most is None else most)
    if most is not None:
        yield from named_lines(
            "Warning", _warnings((each.finding for each in warned), with_words=with_warning_words)
        )
    without_value = [
        each.finding
        for each in undecided
        if not _has_value(each.finding) and each.finding.clause != FindingKind.TABLE_AGREES
    ]
    yield from _reasons(without_value, is_short=most is not None)
    yield from _accepted(document)
    passed = [
        name for name, verdict in _outcomes(document, lambda _: True).items() if verdict == "PASS"
    ]
    accepted = {finding.clause for finding in document.findings if finding.accepted is not None}
    yield from named_lines("Passed", [name for name in passed if name not in accepted])
    reasons: dict[str, list[str]] = {}
    for row in document.not_judged:
        why = row.text.removeprefix("applies to ").replace(" (", ", ").removesuffix(")")
        reasons.setdefault(why, []).append(row.name)
    left_out = [f"{listed(names)} ({text})" for text, names in reasons.items()]
    yield from named_lines("Not applicable", left_out)


def _warnings(warned: Iterable[Finding], *, with_words: bool) -> list[str]:
    """Return the advisory checks that did not pass: each once, where adversaries or releases differ in it."""
    words: dict[str, list[str]] = {}
    for finding in warned:
        words.setdefault(finding.clause, []).append(_warning(finding, with_words=with_words))
    names = []
    for clause, said in words.items():
        is_open = f"{clause} (not decided)" in said
        is_mixed = is_open and len(set(said)) > 1
        names.append(
            f"{clause} (in part not decided)" if is_mixed else ", ".join(dict.fromkeys(said))
        )
    return names


def _warning(finding: Finding, *, with_words: bool) -> str:
    """Return the name of an advisory check that did not pass, with what it measures if there is room."""
    if finding.verdict == "UNDETERMINED":
        return f"{finding.clause} (not decided)"
    if with_words and finding.measure:
        return f"{finding.clause} ({check_words(finding)})"
    return finding.clause


def _has_value(finding: Finding) -> bool:
    return bool(finding.measure) and not finding.value.reason


def _reasons(findings: Sequence[Finding], *, is_short: bool) -> Iterator[str]:
    """Yield the checks that could not be decided, by why."""
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        why = finding.value.reason if finding.measure else finding.message
        reasons.setdefault(why.rstrip(". "), []).append(finding.clause)
    if not reasons:
        return
    if not is_short:
        yield ""
    yield "Not decided, and why"
    for why, clauses in reasons.items():
        names = ", ".join(dict.fromkeys(clauses))
        yield from few_lines(wrapped(f"{names}: {why}.", "  ", "    "), 3)


def _accepted(document: Document) -> Iterator[str]:
    accepted = {
        finding.clause: f"{finding.clause} ({finding.accepted.by})"
        for finding in document.findings
        if finding.accepted is not None
    }
    yield from named_lines("Accepted", list(accepted.values()))


def _notes(document: Document, most: int) -> Iterator[str]:
    """Yield the first remarks about the files and the audit, and how many more there are."""
    notes = [*document.warnings, *document.model.notes]
    if not notes:
        return
    more = f" (and {len(notes) - 1:,} more: {VERBOSE})" if len(notes) > 1 else ""
    lines = few_lines(wrapped(f"Note: {notes[0]}", "  ", "    "), most)
    yield from lines[:-1]
    yield f"{cut_line(lines[-1], len(more))}{more}"
