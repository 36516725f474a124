"""How a page is drawn: one environment of templates, and what every page knows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

import treewarden
from treewarden.jobs.inspecting import facts
from treewarden.service import names
from treewarden.service.auth.principal import Principal
from treewarden.service.pages._forms import labels_of
from treewarden.service.schemas.audits import Finding
from treewarden.service.schemas.models import Version

STATIC = resources.files("treewarden.service.pages") / "static"
UNITS = ("bytes", "KB", "MB", "GB")


def page(
    request: Request,
    name: str,
    principal: Principal | None,
    /,
    *,
    status: int = 200,
    **context: Any,  # noqa: ANN401  # what the template shows
) -> HTMLResponse:
    """Return a page: the template ``name`` with ``context``; ``principal`` is None where nobody is signed in.

    Signs that nobody sees are written out wherever they stand: a name must not look like another.
    """
    text = (
        environment()
        .get_template(name)
        .render(here=request.url.path, who=principal, labels=labels_of(name), **context)
    )
    return HTMLResponse(
        names.escape_page(text), status_code=status, headers={"Cache-Control": "no-store"}
    )


@cache
def environment() -> Environment:
    """Return what draws templates: everything that is put in is escaped, what is missing is an error.

    The signs of verdicts are those of the reports, from the same file.
    """
    made = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("treewarden.service.pages"),
                PackageLoader("treewarden.reports", "templates"),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        moment=moment, day=day, size=size, plural=plural, pair=pair, sent=names.sent
    )
    made.globals.update(
        program=f"treewarden {treewarden.__version__}", static=static, address=address
    )
    return made


@cache
def static(name: str) -> str:
    """Return where a file of the folder ``static`` is served, under an address that changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def address(path: str, **query: str | int | None) -> str:
    """Return an address of this site with a query; what is None or empty is left out."""
    told = {key: value for key, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(told)}" if told else path


def moment(value: datetime | None) -> Markup:
    """Return a moment, to the minute, in UTC."""
    if value is None:
        return Markup("–")
    words = value.strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{} UTC</time>').format(value.isoformat(), words)


def day(value: date | None) -> Markup:
    """Return a day."""
    if value is None:
        return Markup("–")
    return Markup('<time datetime="{0}">{0}</time>').format(escape(value.isoformat()[:10]))


def size(count: int) -> str:
    """Return how much a number of bytes is, to three digits."""
    told, unit = float(count), UNITS[0]
    for unit in UNITS:
        if told < 1000 or unit == UNITS[-1]:
            break
        told /= 1000
    return f"{count} bytes" if unit == UNITS[0] else f"{told:.3g} {unit}"


def plural(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: “1 finding”, “2,000 findings”."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def pair(thing: object, key: str, words: str) -> tuple[Any, Any]:
    """Return two attributes of a thing, as options of a choice are given."""
    return getattr(thing, key), getattr(thing, words)


# Findings as a page shows them: what is asked once, with all places that do not meet it.

WORST = ("FAIL", "UNDETERMINED")


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """A clause, the worst of its verdicts, and its findings: those that count first."""

    clause: str
    verdict: str
    severity: str
    message: str
    findings: tuple[Finding, ...]

    @property
    def is_accepted(self) -> bool:
        """Whether waivers speak for all of it."""
        return all(finding.accepted for finding in self.findings)


def grouped(findings: Iterable[Finding]) -> tuple[FindingGroup, ...]:
    """Return findings by clause: what counts before what is a warning or accepted, failures before doubts."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.clause, finding.message), []).append(finding)
    groups = [_group(several) for several in found.values()]
    return tuple(sorted(groups, key=_rank))


def _group(findings: list[Finding]) -> FindingGroup:
    several = sorted(
        findings, key=lambda finding: (bool(finding.accepted), _gravity(finding.verdict))
    )
    first = several[0]
    return FindingGroup(first.clause, first.verdict, first.severity, first.message, tuple(several))


def _rank(group: FindingGroup) -> tuple[bool, bool, int]:
    return group.is_accepted, group.severity != "error", _gravity(group.verdict)


def _gravity(verdict: str) -> int:
    return WORST.index(verdict) if verdict in WORST else len(WORST)


# Words of pages for a model's file and the stages of an audit.

HEADS = {
    "what": "Model",
    "predicts": "Predicts",
    "size": "Size",
    "tests": "Asks about",
    "publishes": "Publishes",
    "people": "People",
    "smallest leaf": "Smallest leaf",
    "trees": "Trees",
    "criterion": "Split criterion",
    "also contains": "Also contains",
    "notes": "Notes",
}


BEGINNINGS = ("Fails if", "Checked", "Applies to", "Computed from", "Guidance:", "Source:", "Why:")
"""With what sentences about a clause begin."""


def facts_of(version: Version | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what a version publishes, as heads with their lines; nothing where it was not read."""
    if version is None or version.summary is None:
        return ()
    found: list[tuple[str, list[str]]] = []
    for head, text in facts(version.summary):
        if head or not found:
            found.append((HEADS.get(head, head.capitalize()), []))
        found[-1][1].append(text.removeprefix("- "))
    return tuple((head, tuple(lines)) for head, lines in found)


def paragraphs(lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return a policy in sentences as heads with what follows each; empty lines part them, others are wrapped."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            text = line.strip()
            if (
                len(found[-1]) > 1
                and text.startswith(BEGINNINGS)
                and found[-1][-1][-1] not in ".:;"
            ):
                found[-1][-1] += "."
            found[-1].append(text)
        elif found[-1]:
            found.append([])
    return tuple((head, " ".join(rest)) for head, *rest in filter(None, found))


def asked_columns(summary: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the columns that a model asks about."""
    if summary is None:
        return ()
    return tuple(str(each["name"]) for each in summary.get("features", ()) if each.get("tested"))


def target_of(summary: Mapping[str, Any] | None) -> str:
    """Return the column that a model predicts; "" where its file does not say."""
    return str((summary or {}).get("target") or "")
