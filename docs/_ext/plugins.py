"""Reference pages of the plug-ins: one section each, from the docstrings and settings that the program itself uses."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from docs._ext.words import escaped, paragraphs, table
from treewarden.audit import constraints
from treewarden.audit.constraints import Constraint
from treewarden.audit.measures import Measure, Parameter, measures
from treewarden.policies.pack import load_pack
from treewarden.policies.remedies import remedies
from treewarden.policies.rules import rules
from treewarden.policies.shipped import packs_of_tables, shipped_packs
from treewarden.ppdm_models.files.load import formats
from treewarden.ppdm_models.formats import Rewritable, Strippable, Writer
from treewarden.ppdm_models.plugins import discover
from treewarden.reports.renderers import names, renderer

READS = {
    "leaves": "the leaves and the records in them",
    "estimate": "the maximum-entropy inference",
    "worlds": "what consistent tables prove",
    "cells": "how often each value can occur in consistent tables",
    "file": "the content of the file beside its trees",
    "truth": "everyone's true value",
    "rebuilt": "whose whole records the file proves by itself",
    "members": "who of a register of candidates was in the table",
    "together": "what the leaves of several trees prove together",
    "numbers": "the interval of each person's number in a regression model",
    "noise": "a table of noisy records, and the true records",
    "shape": "the number of splits, leaves and people",
    "claim": "what was found of a claim of differential privacy",
    "contributions": "what each record adds to the totals of leaves",
}
ENDS = {"low": "smaller", "high": "larger"}
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
TERMS = Path(__file__).parents[1] / "terms.md"
TERM_ROW = re.compile(r"^\| (`[a-z_`, ]+`) \| .+ \| (.+) \| (.+) \|$", re.MULTILINE)
"""A row of the table of metrics in ``docs/terms.md``: ids, meaning, the field's term, the regulators' question."""


class Terms(NamedTuple):
    """The field's term for a metric, and which question of the regulators it informs."""

    field: str
    question: str


@cache
def terms() -> dict[str, Terms]:
    """Return the terms of each metric by its id, from the one table that states them."""
    rows = TERM_ROW.findall(TERMS.read_text("utf-8"))
    return {
        name: Terms(LINK.sub(r"\1", field), question)
        for names, field, question in rows
        for name in re.findall(r"[a-z_]+", names)
    }


def measures_page() -> str:
    """Return the page of metrics."""
    return _page(
        "Metrics",
        "What an audit measures. A metric is a range, or not available for a stated reason. A check of a policy "
        "names one metric (`measure` in the file). [Terms](../../terms.md) maps each one to the field's term.",
        {name: _measure(name, measure) for name, measure in measures().items()},
    )


def rules_page() -> str:
    """Return the page of rules."""
    told = {
        name: _about(rule)
        + f"\n\nPasses if the metric is {rule.words} the limit. "
        + f"For metrics that are riskier when {ENDS[rule.risk]}."
        for name, rule in rules().items()
    }
    opening = "How a metric is compared with a limit. The worse end of its range counts, so nothing undecided passes."
    return _page("Rules", opening, told)


def remedies_page() -> str:
    """Return the page of remedies."""
    told = {name: _about(remedy) for name, remedy in remedies().items()}
    opening = (
        "What `treewarden repair` tries. A remedy proposes changes, the mildest first. Each proposal is audited "
        "again. See [Repair a model](../../repair.md)."
    )
    return _page("Remedies", opening, told)


def constraints_page() -> str:
    """Return the page of constraints."""
    found = discover(constraints, "CONSTRAINT", Constraint)
    opening = (
        "The kinds of facts that an adversary is assumed to use. Each gives constraints to the "
        "[inference](../../engineering/estimate.md), and to the [proofs](../../proofs.md)."
    )
    return _page("Constraints", opening, {name: _about(each) for name, each in found.items()})


def formats_page() -> str:
    """Return the page of formats."""
    opening = (
        "One section for each format, by its name in `treewarden list formats`. [Formats](../../formats.md) shows what "
        "to give to treewarden, and what each format says about people."
    )
    told = {name: f"{_about(each)}\n\n{_abilities(each)}" for name, each in formats().items()}
    return _page("Formats by name", opening, told)


def renderers_page() -> str:
    """Return the page of renderers."""
    told = {
        name: f"{_about(renderer(name))}\n\nMedia type `{renderer(name).media_type}`, file suffix "
        f"`{renderer(name).suffix}`."
        for name in names()
    }
    return _page("Renderers", "The formats of a report, by the name that `--format` takes.", told)


def _page(title: str, opening: str, told: Mapping[str, str]) -> str:
    sections = (f"## `{name}`\n\n{text}\n" for name, text in told.items())
    return "\n".join([f"# {title}\n\n{opening}\n", *sections])


def _about(plugin: object) -> str:
    """Return what the docstring of a plug-in's module says, and that of its class where it has one of its own."""
    kind = type(plugin)
    module = sys.modules[kind.__module__]
    own = inspect.cleandoc(kind.__doc__ or "")
    parts = [paragraphs(module.__doc__), paragraphs(own)]
    return "\n\n".join(part for part in parts if part)


def _measure(name: str, measure: Measure) -> str:
    facts = {
        "In words": escaped(measure.plain),
        "The field's term": terms()[name].field,
        "Regulators' question": terms()[name].question,
        "Unit": measure.unit,
        "Riskier when": ENDS[measure.risk],
        "Sensible limits": _limits(*measure.limits),
        "Reads": ", ".join(READS[each] for each in sorted(measure.reads)),
        "Used by": ", ".join(_clauses(name)) or "no built-in policy",
    }
    told = "\n".join([_about(measure), "", *(f":{key}: {said}" for key, said in facts.items())])
    if not measure.parameters:
        return told
    settings = [_setting(*each) for each in measure.parameters.items()]
    head = ("Parameter", "Default", "What it means", "May be")
    return f"{told}\n\n{table(head, settings)}"


def _limits(low: float, high: float) -> str:
    return f"{low:g} or more" if math.isinf(high) else f"{low:g} to {high:g}"


def _setting(name: str, parameter: Parameter) -> tuple[str, str, str, str]:
    least = f"{'whole, ' if parameter.whole else ''}{parameter.low:g} or more"
    may_be = ", ".join(f"`{each}`" for each in parameter.choices) or least
    default = parameter.default if isinstance(parameter.default, str) else f"{parameter.default:g}"
    return f"`{name}`", f"`{default}`", escaped(parameter.meaning), may_be


def _clauses(measure: str) -> Iterator[str]:
    for pack in (*shipped_packs(), *packs_of_tables()):
        for clause in load_pack(pack).clauses:
            if any(atom.call.measure == measure for atom in clause.atoms):
                yield f"`{pack}`: {clause.id}"


def _abilities(each: object) -> str:
    """Say what a format can do besides being read, by the contracts that its module fulfils."""
    module = sys.modules[type(each).__module__]
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__]
    can = ["read"]
    if isinstance(each, Writer):
        can.append("written from any model that it can express")
    if any(issubclass(kind, Rewritable) for kind in own):
        can.append("changed in place by `repair`")
    if any(issubclass(kind, Strippable) for kind in own):
        can.append("cleaned by `redact`")
    return f"Can be {', '.join(can)}."
