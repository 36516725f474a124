"""The Java source that Weka writes for a J48 tree (-z): read by its fixed shape, never compiled or run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.node_order import Branch, Draft, features_named, grown
from treewarden.ppdm_models.formats.common.printed_trees import lines_of
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.predicate import (
    CategoryTest,
    MissingTest,
    NumericTest,
    Predicate,
    features_of,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Learner, Missing, Node, Task, Tree

CLASS = re.compile(r"class (\w{1,200}) \{")
METHOD = re.compile(r"static double (N[0-9a-f]{1,20}) ?\(Object ?\[\] ?i\) \{")
MISSING = re.compile(r"if \(i\[(\d{1,6})\] == null\) \{")
NUMBER = r"-?\d+(?:\.\d+)?(?:E-?\d+)?"
CASE = re.compile(
    r"\} else if \((?:(?P<not>!?)i\[(?P<nominal>\d{1,6})\]\.equals\(\"(?P<value>(?:[^\"\\]|\\.)*)\"\)"
    rf"|\(\(Double\) ?i\[(?P<numeric>\d{{1,6}})\]\)\.doubleValue\(\) (?P<sign><=|>) (?P<end>{NUMBER}))\) \{{"
)
LEAF = re.compile(r"p = (\d{1,6});")
CALL = re.compile(r"p = (\w{1,200})\.(N[0-9a-f]{1,20})\(i\);")
START, BACK, CLOSE = "double p = Double.NaN;", "return p;", "}"
MARK = b"public static double classify(Object[] i)"

Goal = int | str
"""What a case leads to: the number of a class, or the method that asks on."""


@dataclass(frozen=True, slots=True)
class MethodSplit:
    """One method: the attribute, where a missing value goes, and the cases with where they lead."""

    feature: str
    missing: Goal
    cases: tuple[tuple[Predicate, Goal], ...]


class WekaJava(Format):
    """Reads the class that holds the tree; attributes and classes have numbers there, and no names."""

    how_to_export = "write the Java source again in Weka"

    def sniff(self, data: bytes) -> bool:
        return MARK in data and b"double p = Double.NaN;" in data

    def open(self, data: bytes, source: str) -> Opened:
        lines = lines_of(data, source)
        return Opened(_read(lines, source), _leaks(lines))


def _read(printed: Sequence[str], source: str) -> Tree:
    lines = [(number, line.strip()) for number, line in enumerate(printed, 1)]
    reader = _JavaLines([pair for pair in lines if pair[1]], source)
    root, methods = _program(reader)
    used: list[Goal] = []

    def draft_of(place: int) -> Draft:
        return _draft(place, used, methods, source)

    used.append(root)
    nodes = grown(0, draft_of, source)
    asked = [goal for goal in used if isinstance(goal, str)]
    twice = next((goal for goal in asked if asked.count(goal) > 1), None)
    if twice is not None:
        raise TreeFormatError(source, f"the method {twice} is called twice")
    for method in methods:
        if method not in asked:
            raise TreeFormatError(source, f"the method {method} is never called")
    return _tree(nodes, source)


def _leaks(lines: Sequence[str]) -> Iterator[Leak]:
    for number, line in enumerate(lines, 1):
        if line.startswith("// Timestamp:"):
            yield Leak(LeakKind.TIMESTAMP, f"line {number}", "when the model was made")
            return


class _JavaLines:
    """The lines with words, read one after the other."""

    def __init__(self, lines: Sequence[tuple[int, str]], source: str) -> None:
        self.lines, self.source, self.at = lines, source, 0

    def refused(self, problem: str) -> TreeFormatError:
        number = self.lines[min(self.at, len(self.lines) - 1)][0] if self.lines else 1
        return TreeFormatError(f"{self.source}:{number}", problem)

    def peek(self) -> str:
        return self.lines[self.at][1] if self.at < len(self.lines) else ""

    def expect(self, words: str) -> None:
        if self.peek() != words:
            raise self.refused(f"this is {self.peek()[:60]!r}, but {words!r} is expected")
        self.at += 1

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.fullmatch(self.peek())
        if found is None:
            if not self.peek():
                raise self.refused("the file ends too early")
            raise self.refused(f"{self.peek()[:60]!r} is not part of a tree that Weka writes")
        self.at += 1
        return found


def _program(lines: _JavaLines) -> tuple[Goal, dict[str, MethodSplit]]:
    """Return what the class answers with, and its methods."""
    while lines.peek() and not CLASS.fullmatch(lines.peek()):
        lines.at += 1
    name = lines.match(CLASS)[1]
    lines.expect(MARK.decode())
    lines.expect("throws Exception {")
    lines.expect(START)
    root = _goal(lines, name)
    lines.expect(BACK)
    lines.expect(CLOSE)
    methods: dict[str, MethodSplit] = {}
    while lines.peek() != CLOSE:
        called = lines.match(METHOD)[1]
        if called in methods:
            raise lines.refused(f"the method {called} occurs twice")
        if len(methods) >= limits.NODES:
            raise lines.refused(
                f"more than {limits.NODES:,} nodes, which is the limit; train a smaller tree"
            )
        methods[called] = _method(lines, name)
    lines.expect(CLOSE)
    if lines.peek():
        raise lines.refused("there is text after the end of the class")
    return root, methods


def _goal(lines: _JavaLines, name: str) -> Goal:
    leaf = LEAF.fullmatch(lines.peek())
    if leaf is not None:
        lines.at += 1
        return int(leaf[1])
    call = lines.match(CALL)
    if call[1] != name:
        raise lines.refused(f"calls the class {call[1][:60]!r}, which is not in the file")
    return call[2]


def _method(lines: _JavaLines, name: str) -> MethodSplit:
    lines.expect(START)
    place = lines.match(MISSING)[1]
    missing = _goal(lines, name)
    cases: list[tuple[Predicate, Goal]] = []
    while CASE.fullmatch(lines.peek()):
        found = lines.match(CASE)
        if (found["nominal"] or found["numeric"]) != place:
            raise lines.refused("a test uses two attributes at once")
        cases.append((_test(found, place), _goal(lines, name)))
    lines.expect(CLOSE)
    lines.expect(BACK)
    lines.expect(CLOSE)
    if len(cases) < 2:
        raise lines.refused("a test has fewer than two outcomes")
    return MethodSplit(f"attribute {int(place)}", missing, tuple(cases))


def _test(match: re.Match[str], place: str) -> Predicate:
    name = f"attribute {int(place)}"
    if match["nominal"] is not None:
        value = re.sub(r"\\(.)", r"\1", match["value"])
        return CategoryTest(name, (value,), negated=match["not"] == "!")
    end = float(match["end"])
    if match["sign"] == "<=":
        return NumericTest(name, high=end, high_closed=True)
    return NumericTest(name, low=end)


def _draft(place: int, used: list[Goal], methods: dict[str, MethodSplit], source: str) -> Draft:
    """Return the node at a place of the list of goals; what it leads to is added there."""
    goal = used[place]
    if isinstance(goal, int):
        return Draft(f"n{place}", score=str(goal))
    method_split = methods.get(goal)
    if method_split is None:
        raise TreeFormatError(source, f"the method {goal} is called, but missing")
    branches = []
    for test, leads in (
        (MissingTest(method_split.feature), method_split.missing),
        *method_split.cases,
    ):
        branches.append(Branch(len(used), test))
        used.append(leads)
        if len(used) > limits.NODES:
            raise TreeFormatError(
                source,
                f"more than {limits.NODES:,} nodes, which is the limit; train a smaller tree",
            )
    return Draft(f"n{place}", tuple(branches))


def _tree(nodes: tuple[Node, ...], source: str) -> Tree:
    numbers = [int(str(node.score)) for node in nodes if node.is_leaf]
    size = max(2, max(numbers) + 1)
    if size > limits.CLASSES:
        raise TreeFormatError(
            source,
            f"{size:,} classes are more than the limit of {limits.CLASSES:,}; "
            "merge classes before training",
        )
    names = dict.fromkeys(name for node in nodes for name in features_of(node.test))
    return with_support(
        Tree(
            nodes=nodes,
            features=features_named(list(names), nodes, source),
            target="",
            classes=tuple(map(str, range(size))),
            task=Task.CLASSIFICATION,
            learner=Learner(tool=Tool.WEKA),
            missing=Missing.NONE,
            source=source,
            notes=(
                f"{source}: Java source names neither attributes nor classes, so numbers are used",
            ),
        )
    )


FORMAT = WekaJava()
