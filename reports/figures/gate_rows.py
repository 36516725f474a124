"""What a gate found, as rows that every form shows alike: worst first, each with its rule, its place and its id."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from treewarden.policies.verdict import SEVERITIES, FindingKind
from treewarden.reports.building.entry import ORDER, bare_rule
from treewarden.reports.document.gate import Entry, Gate, Outcome, Result, Rule
from treewarden.reports.document.words import count, listed, printable

WORDS: Mapping[Outcome, tuple[str, str]] = {
    "PASS": ("passes", "pass"),
    "UNDETERMINED": ("is undetermined", "are undetermined"),
    "FAIL": ("fails", "fail"),
    "NO AUDIT": ("has no audit", "have no audit"),
}
ACCEPTED = {"waiver": "waived", "baseline": "in the baseline"}
FIRST_LINE = 1


@dataclass(frozen=True, slots=True)
class GateRow:
    """One thing that is not met in one model; ``rule_id`` is the clause, told apart where policies differ on it."""

    entry: Entry
    result: Result
    rule: Rule
    rule_id: str

    @property
    def line(self) -> int:
        """The line in the model's file; what is true of the whole file, or has no line, stands at its first."""
        return self.result.line or FIRST_LINE

    @property
    def key(self) -> str:
        """What tells it from the same finding in another model; it stays when lines move."""
        return _digest(self.entry.name, self.entry.file, self.result.id)

    @property
    def accepted(self) -> str:
        """Why it does not count, in words; "" where it does."""
        found = self.result.accepted
        return "" if found is None else f"{ACCEPTED[found.by]}: {found.reason}"

    @property
    def where(self) -> str:
        """The leaf in words: its path and node, and the tree where it is not the first."""
        if not self.result.path and not self.result.node:
            return "the model as a whole"
        tree = f"tree {self.result.tree}, " if self.result.tree else ""
        node = f"{tree}node {self.result.node}"
        return f"{self.result.path} ({node})" if self.result.path else node

    @property
    def sentence(self) -> str:
        """What is not met, where, and whether it was accepted, in one sentence."""
        where = f" In {self.where}." if self.result.path or self.result.node else ""
        accepted = f" Accepted, {self.accepted}." if self.accepted else ""
        return f"{self.result.message}.{where}{accepted}"


def gate_rows(gate: Gate) -> tuple[GateRow, ...]:
    """Return all that is not met, worst first: what counts before what was accepted, errors before warnings."""
    found = [
        (entry, result, rules[result.clause])
        for entry in gate.entries
        for rules in [_rules(entry)]
        for result in entry.results
    ]
    names = _rule_ids([rule for _, _, rule in found])
    rows = [GateRow(*each, names[each[2]]) for each in found]
    return tuple(sorted(rows, key=_worst_first))


def in_words(gate: Gate) -> str:
    """Return how many models have which outcome: ``3 models: 1 fails, 2 pass``."""
    if not gate.entries:
        return "no model was audited"
    found = Counter(entry.outcome for entry in gate.entries)
    said = [
        f"{count(found[outcome])} {WORDS[outcome][found[outcome] > 1]}"
        for outcome in reversed(ORDER)
        if found[outcome]
    ]
    if len(gate.entries) == 1:
        return f"1 model {WORDS[gate.entries[0].outcome][0]}"
    return f"{count(len(gate.entries))} models: {', '.join(said)}"


def open_and_accepted(rows: Sequence[GateRow]) -> str:
    """Return how many findings are open, by severity, and how many were accepted: ``2 errors and 1 accepted``."""
    found = Counter(row.result.severity for row in rows if not row.accepted)
    accepted = len(rows) - found.total()
    said = [
        f"{count(found[severity])} {severity if found[severity] == 1 else severity + 's'}"
        for severity in reversed(SEVERITIES)
        if found[severity]
    ]
    said += [f"{count(accepted)} accepted"] if accepted else []
    return listed(said) if said else "no findings"


@dataclass(frozen=True, slots=True)
class NoAuditGroup:
    """Models that have no audit for one reason; ``advice`` is what to do about all of them, "" where none is told."""

    entries: tuple[Entry, ...]
    problem: str
    advice: str

    @property
    def head(self) -> str:
        """How many models there are, and what is wrong with them."""
        return f"{count(len(self.entries))} models: {self.problem}"

    def names(self, most: int | None = None) -> str:
        """Return the names of the models, or the first of them and how many more there are."""
        names = [printable(entry.name) for entry in self.entries]
        if most is None or len(names) <= most:
            return ", ".join(names)
        return f"{', '.join(names[:most])}, and {count(len(names) - most)} more"


def grouped_entries(gate: Gate) -> Iterator[Entry | NoAuditGroup]:
    """Yield what came of the models in their order; those without an audit for one reason together, at the first."""
    groups: dict[str, list[Entry]] = {}
    for entry in gate.entries:
        if entry.outcome == "NO AUDIT":
            groups.setdefault(_reason(entry), []).append(entry)
    for entry in gate.entries:
        reason = _reason(entry) if entry.outcome == "NO AUDIT" else ""
        alike = groups.get(reason, [entry])
        if len(alike) == 1:
            yield entry
        elif alike[0] is entry:
            problem, _, advice = reason.partition("; ")
            yield NoAuditGroup(tuple(alike), problem, advice.rstrip("."))


def no_audit_groups(gate: Gate) -> list[NoAuditGroup]:
    """Return the models that have no audit for the same reason as others."""
    return [group for group in grouped_entries(gate) if isinstance(group, NoAuditGroup)]


def single_rows(gate: Gate, rows: Sequence[GateRow]) -> list[GateRow]:
    """Return the findings but those of models in a group, which are told together."""
    told = {id(entry) for group in no_audit_groups(gate) for entry in group.entries}
    return [row for row in rows if id(row.entry) not in told]


def _reason(entry: Entry) -> str:
    """Return why there was no audit, with the name of the file replaced: ``joblib.load("MODEL.joblib")``."""
    path = PurePosixPath(entry.file)
    named = entry.headline.replace(f'"{path.name}"', f'"MODEL{path.suffix}"')
    return named.replace(f'"{path.stem}.', '"MODEL.')


def basis_words(entry: Entry) -> str:
    """Return what a verdict rests on, where that is no audit of this run."""
    said = {"audit": "", "file": "judged from the file alone", "attestation": "an attestation"}[
        entry.basis
    ]
    cached = "the result of an earlier run" if entry.is_cached else ""
    return ", ".join(each for each in (said, cached) if each)


def _rules(entry: Entry) -> dict[str, Rule]:
    """Return the rules of an entry by clause; of what no clause of its policy stands for, one that says no more."""
    rules = {rule.clause: rule for rule in entry.rules}
    for result in entry.results:
        rules.setdefault(
            result.clause, bare_rule(result.clause, result.severity, policy=entry.policy)
        )
    return rules


def _rule_ids(rules: Sequence[Rule]) -> dict[Rule, str]:
    """Return a name for each rule: its clause, and where several policies have one of that name, the policy first."""
    named: dict[str, list[Rule]] = {}
    for rule in dict.fromkeys(rules):
        named.setdefault(rule.clause, []).append(rule)
    found: dict[Rule, str] = {}
    for clause, several in named.items():
        for rule in several:
            policy = f"{rule.policy}@{rule.version}" if rule.version else rule.policy
            own = clause if len(several) == 1 else f"{policy}/{clause}"
            is_taken = own in found.values()
            found[rule] = f"{own}#{_digest(rule.model_dump_json())[:8]}" if is_taken else own
    return found


def _worst_first(row: GateRow) -> tuple[object, ...]:
    return (
        bool(row.accepted),
        -SEVERITIES.index(row.result.severity),
        row.result.clause != FindingKind.NO_AUDIT.value,
        row.result.verdict != "FAIL",
        row.entry.name,
        row.line,
        row.result.clause,
        row.result.id,
    )


def _digest(*parts: str) -> str:
    data = "\n".join(map(printable, parts)).encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()[:16]


# Names from files in Markdown: shown as they are, whatever they contain.

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;", "$": "&#36;"}
MARKS = "\\`*_[]|~"


def marked(text: str) -> str:
    """Return a text that Markdown shows as it is: no mark, table, HTML, link, mention or formula comes of it."""
    signs = (
        ENTITIES.get(each) or (f"\\{each}" if each in MARKS else each) for each in printable(text)
    )
    return "".join(signs).replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
