"""How a page is drawn: one environment of templates, and what every page knows."""

from __future__ import annotations

import hashlib
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
from treewarden.service import unseen
from treewarden.service.pages._labels import labels_of
from treewarden.service.people.principal import Principal

STATIC = resources.files("treewarden.service.pages") / "static"
UNITS = ("bytes", "KB", "MB", "GB")


def page(
    request: Request,
    name: str,
    who: Principal | None,
    /,
    *,
    status: int = 200,
    **context: Any,  # noqa: ANN401  # what the template shows
) -> HTMLResponse:
    """Return a page: the template ``name`` with ``context``; ``who`` is None where nobody is signed in.

    Signs that nobody sees are written out wherever they stand: a name must not look like another.
    """
    text = (
        environment()
        .get_template(name)
        .render(here=request.url.path, who=who, labels=labels_of(name), **context)
    )
    return HTMLResponse(
        unseen.shown(text), status_code=status, headers={"Cache-Control": "no-store"}
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
        moment=moment, day=day, size=size, plural=plural, pair=pair, sent=unseen.sent
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
