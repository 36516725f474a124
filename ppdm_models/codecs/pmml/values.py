"""Values as PMML writes them: numbers with padding, labels spelled in several ways, arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from treewarden.ppdm_models.codecs.common.xml import Element
from treewarden.ppdm_models.errors import TreeFormatError

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
ITEM = re.compile(r'"((?:\\"|[^"])*)"|([^\s"]+)')


class Failure:
    """Makes the errors about one part of a file: each names the line, and the node where there is one."""

    __slots__ = ("inside", "source")

    def __init__(self, source: str, inside: str = "") -> None:
        self.source = source
        self.inside = inside

    def __call__(self, element: Element, problem: str) -> TreeFormatError:
        return TreeFormatError(f"{self.source}:{element.line}{self.inside}", problem)


def number(text: str | None) -> float | None:
    """Return a finite number as XML writes it, padding trimmed; None where it is not one."""
    if text is None:
        return None
    if text.isdigit() and text.isascii() and len(text) < 16:
        return float(text)
    trimmed = text.strip()
    value = float(trimmed) if len(trimmed) < 1000 and NUMBER.fullmatch(trimmed) else math.nan
    return value if math.isfinite(value) else None


class Vocabulary:
    """Known values, found again under other spellings."""

    def __init__(self, values: Iterable[str]) -> None:
        self.position = {value: position for position, value in enumerate(values)}
        self._by_number: dict[float, str | None] = {}
        for value in self.position:
            meant = number(value)
            if meant is not None:
                self._by_number[meant] = None if meant in self._by_number else value

    def find(self, text: str) -> str | None:
        """Return the value that a text means: itself, without padding, or the same number written otherwise."""
        if text in self.position:
            return text
        if text.strip() in self.position:
            return text.strip()
        meant = number(text)
        return None if meant is None else self._by_number.get(meant)


def items(array: Element, fail: Failure) -> list[str]:
    r"""Split an Array: items between blanks, those with blanks in double quotes, quotes inside as \".

    Raises:
        TreeFormatError: a quote is left open.
    """
    if ITEM.sub(" ", array.text).strip():
        raise fail(array, "the Array has a quote without its partner")
    return [
        bare if bare else quoted.replace('\\"', '"')
        for quoted, bare in (match.groups(default="") for match in ITEM.finditer(array.text))
    ]
