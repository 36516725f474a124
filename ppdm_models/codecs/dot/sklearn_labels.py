"""The labels of scikit-learn's export_graphviz: test, impurity, samples, value, class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.text_tree import amount, as_float
from treewarden.ppdm_models.errors import TreeFormatError

NODE_ID = re.compile(r"node #\d+")
TEST = re.compile(r"(.+) <= (-?[\d.eE+-]+|inf)")
IMPURITY = re.compile(r"([a-z_]+) = (-?[\d.eE+-]+)")
SAMPLES = re.compile(r"samples = ([\d.eE+-]+)(%?)")
VALUE = re.compile(r"value = (\[?)([^\[\]]*)(\]?)")
HIDDEN = "(...)"


@dataclass(frozen=True, slots=True)
class Box:
    """What a node's label says; ``feature`` and ``threshold`` only where it is split.

    ``impurity`` is the name of the criterion (or "impurity") and the number, as printed.
    """

    feature: str | None = None
    threshold: str | None = None
    samples: float | None = None
    is_share: bool = False
    values: tuple[float, ...] = ()
    is_list: bool = False
    label: str | None = None
    impurity: tuple[str, str] | None = None
    is_hidden: bool = False


def read_box(parts: Sequence[str], is_leaf: bool, where: str) -> Box:
    """Return what stands in a node's label.

    Raises:
        TreeFormatError: a line is not understood: names were left out, or several outputs are predicted.
    """
    if list(parts) == [HIDDEN]:
        return Box(is_hidden=True)
    lines = _joined(parts)
    if lines and NODE_ID.fullmatch(lines[0]):
        lines = lines[1:]
    test = TEST.fullmatch(lines[0]) if lines and not is_leaf else None
    if not is_leaf and test is None:
        raise TreeFormatError(where, "a split without a test '<='")
    rest = lines[1:] if test else lines
    samples, is_share, values, is_list, label = None, False, tuple[float, ...](), False, None
    impurity = None
    for line in rest:
        size, value = SAMPLES.fullmatch(line), VALUE.fullmatch(line)
        mixed = IMPURITY.fullmatch(line)
        if size:
            samples, is_share = amount(size[1], where), bool(size[2])
        elif value:
            values, is_list = _values(value[2], where), bool(value[1])
        elif line.startswith("class = "):
            label = line.removeprefix("class = ")
        elif mixed:
            impurity = mixed[1], mixed[2]
        else:
            raise TreeFormatError(
                where, f"{line[:60]!r} is not understood; export with label='all'"
            )
    return Box(
        test[1] if test else None,
        test[2] if test else None,
        samples,
        is_share,
        values,
        is_list,
        label,
        impurity,
    )


def _joined(parts: Sequence[str]) -> list[str]:
    """Return the lines with a list that is broken over several of them put together."""
    lines: list[str] = []
    for part in parts:
        is_open = bool(lines) and lines[-1].startswith("value = [") and not lines[-1].endswith("]")
        if is_open:
            lines[-1] = f"{lines[-1].rstrip(', ')}, {part}"
        else:
            lines.append(part)
    return lines


def _values(text: str, where: str) -> tuple[float, ...]:
    numbers = [as_float(number) for number in re.split(r"[,\s]+", text.strip())]
    known = tuple(number for number in numbers if number is not None)
    if len(known) < len(numbers) or not 0 < len(known) <= limits.CLASSES:
        raise TreeFormatError(where, "values that are no numbers, or of several outputs")
    return known
