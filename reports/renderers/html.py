"""One self-contained page for data stewards and managers: no network, no script, no link that leaves it."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reports.document.document import Document
from reports.document.words import printable
from reports.figures.drawing import Drawing, draw
from reports.figures.outline import outline
from reports.figures.plots import certainty, divergence, levels, tradeoff
from reports.renderers import Renderer

MOST_PLACES = 5
LEVELS_SUMMARY = (
    "Each bar adds one kind of information to the one above it. Guessed right: share of people whose value the "
    "adversary's best guess names. Surest true guess: the largest probability given to what is true of somebody."
)


class HtmlRenderer(Renderer):
    """HTML with its style and pictures inside; every name from a file is escaped, control characters are shown."""

    media_type = "text/html; charset=utf-8"
    suffix = "html"

    def render(self, document: Document) -> bytes:
        page = _environment().get_template("report.html.j2")
        return page.render(
            doc=document,
            plots=_plots(document),
            trees=_trees(document),
            outline=outline(document.tree) if document.tree else (),
            most=MOST_PLACES,
        ).encode("utf-8")


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )


def _shown(value: Any) -> Any:  # noqa: ANN401  # whatever a template prints
    """Escape control and direction-changing characters in every name that is printed."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


def _plots(document: Document) -> dict[str, Markup | None]:
    series = document.plots
    return {
        "certainty": certainty(series.certainty) if series.certainty else None,
        "divergence": divergence(series.divergence) if series.divergence else None,
        "levels": levels(series.levels, LEVELS_SUMMARY) if series.levels else None,
        "tradeoff": tradeoff(document.repair) if document.repair else None,
    }


def _trees(document: Document) -> dict[str, Drawing | None]:
    """Return the pictures by name: the tree, and the two sides of a repair."""
    repair = document.repair
    before = repair.before.tree if repair else ()
    after = repair.after.tree if repair and repair.after else ()
    return {
        "wide": draw(document.tree) if document.tree else None,
        "before": draw(before, "compact") if before else None,
        "after": draw(after, "compact") if after else None,
    }


RENDERER = HtmlRenderer()
