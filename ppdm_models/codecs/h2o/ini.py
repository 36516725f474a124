"""The ``model.ini`` of an H2O MOJO: settings, the names of the columns, and which files hold their categories."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.grow import unique
from treewarden.ppdm_models.codecs.h2o.nodes import Column
from treewarden.ppdm_models.errors import TreeFormatError

NAME = "model.ini"
DOMAIN = re.compile(r"(\d{1,6}): (\d{1,9}) (\S{1,100})")
OLDEST = 1.2
"""The first version whose trees are packed as here."""


@dataclass(frozen=True, slots=True)
class Ini:
    """The settings by name, and the columns in their order, the response last."""

    source: str
    settings: Mapping[str, str]
    columns: tuple[Column, ...]

    def refused(self, problem: str) -> TreeFormatError:
        """Return the error that the file is wrong."""
        return TreeFormatError(f"{self.source}: {NAME}", problem)

    @property
    def response(self) -> Column | None:
        """The column that is predicted; None of a model that was not told any."""
        return self.columns[-1] if self.text("supervised") == "true" else None

    @property
    def predictors(self) -> int:
        """How many columns come before the response."""
        return len(self.columns) - (self.response is not None)

    def text(self, key: str) -> str:
        """Return a setting that must be there."""
        found = self.settings.get(key)
        if found is None:
            raise self.refused(f"no {key!r}; it must be there")
        return found

    def whole(self, key: str) -> int:
        """Return a setting that is a whole number."""
        text = self.text(key)
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise self.refused(f"{key} is {text[:40]!r}, which is no whole number")
        return int(text)

    def number(self, key: str, default: float) -> float:
        """Return a setting that is a finite number."""
        text = self.settings.get(key)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.refused(f"{key} is {(text or '')[:40]!r}, which is no finite number")
        return value


def read_ini(files: Mapping[str, bytes], source: str) -> Ini:
    """Return the settings and the columns.

    Raises:
        TreeFormatError: a file is missing or malformed, or the MOJO is older than what is read here.
    """
    settings, names, domains = _sections(_lines(files, NAME, source), source)
    where = f"{source}: {NAME}"
    names = list(unique(names, "columns", where, limits.FEATURES))
    labels: dict[int, tuple[str, ...]] = {}
    escaped = settings.get("escape_domain_values") == "true"
    for place, size, name in domains:
        if place >= len(names) or place in labels:
            raise TreeFormatError(where, f"categories of column {place}, which is none or has some")
        found = [
            _unescaped(line) if escaped else line
            for line in _lines(files, f"domains/{name}", source)
        ]
        if len(found) != size:
            raise TreeFormatError(where, f"domains/{name} has {len(found):,} lines, not {size:,}")
        labels[place] = unique(found, "categories", f"{source}: domains/{name}", 10**6)
    columns = tuple(Column(name, labels.get(place, ())) for place, name in enumerate(names))
    ini = Ini(source, settings, columns)
    if not columns or ini.whole("n_columns") != len(columns) or not ini.predictors:
        raise ini.refused(f"{len(columns)} columns, which are not those it counts")
    if ini.number("mojo_version", 0.0) < OLDEST:
        raise ini.refused(f"MOJO version {ini.text('mojo_version')}; save it with a newer H2O")
    return ini


def _lines(files: Mapping[str, bytes], name: str, source: str) -> list[str]:
    if name not in files:
        raise TreeFormatError(source, f"no {name} in the archive")
    try:
        lines = files[name].decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise TreeFormatError(f"{source}: {name}", "not UTF-8") from error
    lines = [line.removesuffix("\r") for line in lines]
    return lines[:-1] if lines and not lines[-1] else lines


def _sections(
    lines: list[str], source: str
) -> tuple[dict[str, str], list[str], list[tuple[int, int, str]]]:
    settings: dict[str, str] = {}
    columns: list[str] = []
    domains: list[tuple[int, int, str]] = []
    section = ""
    for number, line in enumerate(lines, 1):
        where = f"{source}: {NAME}:{number}"
        if line in ("[info]", "[columns]", "[domains]"):
            section = line
        elif section == "[columns]" and line:
            columns.append(line)
        elif section == "[domains]" and line:
            found = DOMAIN.fullmatch(line)
            if found is None:
                raise TreeFormatError(where, f"{line[:80]!r} names no file of categories")
            domains.append((int(found[1]), int(found[2]), found[3]))
        elif section == "[info]" and line:
            key, equals, value = line.partition(" = ")
            if not equals or key in settings:
                raise TreeFormatError(where, f"{line[:80]!r} is no setting, or stands twice")
            settings[key] = value
        elif line:
            raise TreeFormatError(where, f"{line[:80]!r} stands outside all sections")
    return settings, columns, domains


def _unescaped(line: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "r": "\r"}.get(found[1], found[1]), line)
