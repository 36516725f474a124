"""One self-contained page for data stewards and data protection officers: no network, no scripts."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from treewarden.policies.verdict import counts
from treewarden.reports.document.document import Document, assumed_sentences
from treewarden.reports.document.gate import Gate
from treewarden.reports.document.methods import RandomisedDocument
from treewarden.reports.figures.charts import certainty, divergence, levels
from treewarden.reports.figures.curve import caption, curve_of, tells_accuracy
from treewarden.reports.figures.drawing import Drawing, draw, outline
from treewarden.reports.figures.finding_rows import (
    COLUMNS,
    ORIGIN,
    adversary_notes,
    adversary_rows,
    learned_facts,
    values_text,
)
from treewarden.reports.figures.gate_rows import (
    GateRow,
    basis_words,
    gate_rows,
    in_words,
    no_audit_groups,
    open_and_accepted,
)
from treewarden.reports.figures.pages import environment
from treewarden.reports.renderers import GateRenderer, RandomisedRenderer

MOST_PLACES = 5
MOST_FINDINGS = 20
LEVELS_SUMMARY = (
    "Each bar adds one kind of published information to the one above it. Inferred correctly: share of people whose "
    "value the inference names. Highest confidence: the largest probability that it gives to a true value."
)


class HtmlRenderer(GateRenderer, RandomisedRenderer):
    """HTML with its style and pictures inside; every name from a file is escaped, control characters are shown."""

    media_type = "text/html; charset=utf-8"
    suffix = "html"
    has_reports = True

    def render(self, document: Document) -> bytes:
        page = environment().get_template("report.html.j2")
        return page.render(
            doc=document,
            origin_of_labels=ORIGIN,
            values_text=values_text,
            plots=_plots(document),
            trees=_trees(document),
            assumed=assumed_sentences(document),
            learned=learned_facts(document),
            outline=outline(document.tree) if document.tree else (),
            most=MOST_PLACES,
            adversaries=adversary_rows(document.adversaries),
            adversary_notes=tuple(adversary_notes(document)),
            heads=tuple(COLUMNS.values()),
            has_accuracy=document.repair is not None and tells_accuracy(document.repair),
            curve_words="" if document.repair is None else caption(curve_of(document.repair)),
        ).encode("utf-8")

    def render_gate(self, gate: Gate) -> bytes:
        rows = gate_rows(gate)
        groups = no_audit_groups(gate)
        told = {id(entry) for group in groups for entry in group.entries}
        models = [
            (entry, [row for row in rows if row.entry is entry], basis_words(entry), number)
            for number, entry in enumerate(gate.entries, 1)
            if id(entry) not in told
        ]
        page = environment().get_template("gate.html.j2")
        return page.render(
            gate=gate,
            models=models,
            groups=groups,
            headline=in_words(gate),
            found=open_and_accepted(rows),
            found_of=open_and_accepted,
            grouped=_by_rule,
            counts=counts,
            running="treewarden",
            most=MOST_FINDINGS,
        ).encode("utf-8")

    def render_randomised(self, document: RandomisedDocument) -> bytes:
        from treewarden.reports.figures.plots import histogram  # heavy, and not for audits

        pictures = {
            column.name: histogram(column, number)
            for number, column in enumerate(document.columns)
            if column.distribution is not None
        }
        page = environment().get_template("randomised.html.j2")
        is_open = not document.confidential.startswith("Confidential")
        running = "Open" if is_open else "Confidential: shows how true values are distributed"
        return page.render(
            doc=document, pictures=pictures, most=MOST_PLACES, running=running
        ).encode("utf-8")


def _by_rule(rows: Sequence[GateRow]) -> list[list[GateRow]]:
    """Return findings by rule, in the order in which rules are first met."""
    found: dict[str, list[GateRow]] = {}
    for row in rows:
        found.setdefault(row.rule_id, []).append(row)
    return list(found.values())


def _plots(document: Document) -> dict[str, Markup | None]:
    series = document.plots
    return {
        "certainty": certainty(series.certainty) if series.certainty else None,
        "divergence": divergence(series.divergence) if series.divergence else None,
        "levels": levels(series.levels, LEVELS_SUMMARY) if series.levels else None,
        **_heavy_plots(document),
    }


def _heavy_plots(document: Document) -> dict[str, Markup | None]:
    """Return the plots that only some audits have, so that all others do without Matplotlib."""
    if not document.repair and not document.ensemble:
        return {}
    from treewarden.reports.figures.plots import over_trees, tradeoff  # heavy

    people = document.population.records
    return {
        "tradeoff": tradeoff(document.repair) if document.repair else None,
        "over_trees": over_trees(document.ensemble, people) if document.ensemble else None,
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
