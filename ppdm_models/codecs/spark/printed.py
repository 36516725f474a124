"""The nodes of a tree as Spark prints them: an "If" and its "Else" at one depth, what follows one step deeper."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.grow import Branch, Draft, belongs, compared, grown
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.predicate import Predicate
from treewarden.ppdm_models.tree.tree import Node

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
ASKED = re.compile(
    rf"(?P<side>If|Else) \(feature (?P<feature>\d{{1,6}}) (?:(?P<sign><=|>) (?P<end>{NUMBER}|-?Infinity)"
    r"|(?P<set>in|not in) \{(?P<codes>[^{}]*)\})\)"
)
PREDICTED = re.compile(rf"Predict: (?P<value>{NUMBER})")
OPPOSITE = {"<=": ">", "in": "not in"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line: how far it is moved in, what it says, and where it stands."""

    indent: int
    words: str
    where: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What an "If" asks: the feature, the sign that it is asked with, and what it is compared with."""

    feature: str
    sign: str
    value: str


def nodes_of(lines: Sequence[Line], source: str) -> tuple[Node, ...]:
    """Return the nodes of a tree, in the order of its lines.

    A value that is missing goes right, as it is more than every threshold. A category that is in no set goes right,
    too: where Spark keeps the right side's categories instead it goes left, which the text does not tell.

    Raises:
        TreeFormatError: a line is no part of a tree, or stands where none can.
    """
    if not lines:
        raise TreeFormatError(source, "a tree without nodes")
    drafts = _drafts(lines, source)
    return grown(0, lambda index: drafts[index], source)


def _drafts(lines: Sequence[Line], source: str) -> list[Draft]:
    drafts: list[Draft] = []
    asked: dict[int, Asked] = {}
    at = 0
    # what is still to come: the other side of a question (its node), or a node at an indent
    pending: list[tuple[int, int | None]] = [(lines[0].indent, None)]
    while pending:
        indent, question = pending.pop()
        if at >= len(lines):
            raise TreeFormatError(source, "the tree breaks off")
        line = lines[at]
        if line.indent != indent:
            raise TreeFormatError(line.where, f"moved in by {line.indent}, not by {indent}")
        if question is None:
            _node(line, len(drafts), drafts, asked, pending)
        else:
            left = asked[question]
            _other(line, left)
            drafts[question] = _question(
                drafts[question].name, left, question + 1, len(drafts), line
            )
            pending.append((indent + 1, None))
        at += 1
        if len(drafts) > limits.NODES or len(pending) > limits.DEPTH + 1:
            raise TreeFormatError(line.where, "the tree is too deep or too large")
    if at < len(lines):
        raise TreeFormatError(lines[at].where, "stands after the end of the tree")
    return drafts


def _node(
    line: Line,
    here: int,
    drafts: list[Draft],
    asked: dict[int, Asked],
    pending: list[tuple[int, int | None]],
) -> None:
    predicted = PREDICTED.fullmatch(line.words)
    if predicted is not None:
        drafts.append(Draft(name=f"n{here}", score=_number(predicted["value"], line)))
        return
    found = _asked(line, "If")
    asked[here] = found
    drafts.append(Draft(name=f"n{here}"))
    pending.append((line.indent, here))
    pending.append((line.indent + 1, None))


def _asked(line: Line, side: str) -> Asked:
    found = ASKED.fullmatch(line.words)
    if found is None or found["side"] != side:
        raise TreeFormatError(line.where, f"{line.words[:80]!r}, where {side!r} is expected")
    sign = found["sign"] or found["set"]
    return Asked(f"f{int(found['feature'])}", sign, found["end"] or found["codes"] or "")


def _other(line: Line, left: Asked) -> None:
    """Check that the other side asks the opposite."""
    right = _asked(line, "Else")
    if right != Asked(left.feature, OPPOSITE.get(left.sign, ""), left.value):
        raise TreeFormatError(line.where, f"{line.words[:80]!r} is not the other side of its If")


def _question(name: str, left: Asked, yes: int, no: int, line: Line) -> Draft:
    one, other = _tests(left, line)
    return Draft(name=name, branches=(Branch(yes, one), Branch(no, other, takes_missing=True)))


def _tests(left: Asked, line: Line) -> tuple[Predicate, Predicate]:
    if left.sign == "<=":
        end = left.value
        value = math.copysign(math.inf, -1 if end[0] == "-" else 1) if "Inf" in end else float(end)
        return compared(left.feature, "<=", value)
    codes = [_number(text, line) for text in left.value.split(",")] if left.value else []
    if not all(code.is_integer() and 0 <= code < limits.CLASS_NUMBERS for code in codes):
        raise TreeFormatError(line.where, "a category that is no whole number")
    return belongs(left.feature, [str(int(code)) for code in codes])


def _number(text: str, line: Line) -> float:
    value = float(text) if re.fullmatch(NUMBER, text) else math.nan
    if not math.isfinite(value):
        raise TreeFormatError(line.where, f"{text[:40]!r} is no finite number")
    return value
