"""Reference pages of the plug-ins: one section each, from the docstrings and settings that the program itself uses."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterator, Mapping

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
    "estimate": "the maximum-entropy estimate",
    "worlds": "what whole records prove",
    "cells": "how often each value can occur, over whole records",
    "file": "what stands in the file beside its trees",
    "truth": "everybody's true value",
    "together": "what the leaves of several trees say of their people",
    "numbers": "between which ends the leaves of a model of numbers leave those of people",
    "noise": "a table of noisy records, with the true ones",
    "shape": "how many splits and leaves the trees have, and how many people the table",
}
ENDS = {"low": "small readings", "high": "large readings"}


def measures_page() -> str:
    """Return the page of measures."""
    return _page(
        "Measures",
        "What can be read off an audit. A measure gives an interval, or says why it could not tell. A policy's clause "
        "names one measure; `treewarden list measures` lists them.",
        {name: _measure(name, measure) for name, measure in measures().items()},
    )


def rules_page() -> str:
    """Return the page of rules."""
    told = {
        name: _about(rule)
        + f"\n\nHolds where the reading is {rule.words} the limit. "
        + f"For measures of which {ENDS[rule.risk]} are dangerous."
        for name, rule in rules().items()
    }
    opening = "How a reading is held against a limit: on its dangerous end, so that what is open never passes."
    return _page("Rules", opening, told)


def remedies_page() -> str:
    """Return the page of remedies."""
    told = {name: _about(remedy) for name, remedy in remedies().items()}
    opening = (
        "What `treewarden repair` tries. A remedy proposes, mildest change first, and decides nothing: each proposal "
        "is audited again. See [Making a model publishable](../../repair.md)."
    )
    return _page("Remedies", opening, told)


def constraints_page() -> str:
    """Return the page of constraints."""
    found = discover(constraints, "CONSTRAINT", Constraint)
    opening = (
        "The kinds of knowledge that an adversary is assumed to reason with. Each gives rows to the "
        "[estimate](../../engineering/estimate.md), and to the [reasoning over whole records](../../proofs.md)."
    )
    return _page("Constraints", opening, {name: _about(each) for name, each in found.items()})


def formats_page() -> str:
    """Return the page of formats."""
    opening = (
        "One section per format, by its name in `treewarden list formats`. What each says about people, and which of "
        "its numbers an audit uses, stands in [Formats](../../formats.md)."
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
    return _page("Renderers", "The forms of a report, by the name that `--format` takes.", told)


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
        "Unit": measure.unit,
        "Dangerous": ENDS[measure.risk],
        "Sensible limits": _limits(*measure.limits),
        "Reads": ", ".join(READS[each] for each in sorted(measure.reads)),
        "Asked by": ", ".join(_clauses(name)) or "no pack that ships",
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
