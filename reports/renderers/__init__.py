"""Turns a document into bytes: one form per file, named by the file; ``text`` and ``json`` load no plotting library."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.document.document import Document

if TYPE_CHECKING:  # records of reports that are of no single audit
    from treewarden.reports.document.gate import Gate
    from treewarden.reports.document.methods import RandomisedDocument
    from treewarden.reports.figures.remaining import ReportSection


class Renderer(ABC):
    """Same document, same bytes: no clock, no environment, nothing computed. ``suffix`` has no dot.

    What is not ``is_text`` goes into files only, never to a terminal.
    """

    media_type: ClassVar[str]
    suffix: ClassVar[str]
    is_text: ClassVar[bool] = True

    def check(self) -> None:
        """Check that what this form needs is installed, before any work is done for it.

        Raises:
            OutputError: it is not.
        """
        return

    @abstractmethod
    def render(self, document: Document) -> bytes:
        """Return the document in this form; the bytes need be no text, and arrive as they are."""


class FilingRenderer(Renderer):
    """A form of the compliance report, in sections."""

    def render(self, document: Document) -> bytes:
        return self.render_with(document, ())

    @abstractmethod
    def render_with(self, document: Document, report_sections: tuple[ReportSection, ...]) -> bytes:
        """Return the report with further sections before the signature, of what somebody else holds on record."""


class GateRenderer(Renderer):
    """A form of any number of models at once.

    A report of one is shown in it as a gate of one model, unless the form ``has_reports`` and overrides ``render``:
    then that tells more.
    """

    has_reports: ClassVar[bool] = False

    def render(self, document: Document) -> bytes:
        return self.render_gate(_gate_of_one(document))

    @abstractmethod
    def render_gate(self, gate: Gate) -> bytes:
        """Return the gate in this form; same gate, same bytes."""


class RandomisedRenderer(ABC):
    """What a form of reports is too, if it can show a table of noisy records."""

    @abstractmethod
    def render_randomised(self, document: RandomisedDocument) -> bytes:
        """Return such a document in this form; same document, same bytes."""


def rendered(form: Renderer, document: Document, file: str = "") -> bytes:
    """Return a report in a form; ``file`` is the model's path as a pipeline knows it, for forms that point into it."""
    if isinstance(form, GateRenderer) and not form.has_reports:
        return form.render_gate(_gate_of_one(document, file))
    return form.render(document)


def _gate_of_one(document: Document, file: str = "") -> Gate:
    from treewarden.reports.building.entry import gate_of_one  # for forms of a gate only

    return gate_of_one(document, file)


def names() -> tuple[str, ...]:
    """Return the names of the renderers there are, in name order, without importing any."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in found if not name.startswith("_")))


def randomised_renderer(name: str) -> RandomisedRenderer:
    """Import the renderer of that name, which can show a table of noisy records.

    Raises:
        OutputError: there is none, or it cannot.
    """
    found = renderer(name)
    if not isinstance(found, RandomisedRenderer):
        raise OutputError(
            "report",
            f"{name} cannot show a report of 'treewarden randomize'; choose html, json, csv or text",
        )
    return found


def renderer(name: str) -> Renderer:
    """Import one renderer by name, and no other.

    Raises:
        OutputError: there is no such renderer.
        TypeError: the module of that name exports no renderer.
    """
    if name not in names():
        raise OutputError("report", f"no format {name!r}; have {', '.join(names())}")
    found = getattr(importlib.import_module(f"{__name__}.{name}"), "RENDERER", None)
    if not isinstance(found, Renderer):
        raise TypeError(f"{__name__}.{name}: RENDERER is not a Renderer")
    return found
