"""Privacy audits of decision trees that are about to be published; the command line does the same.

What stands here is stable, and read when it is first asked for: importing this package loads nothing else.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

__version__ = "0.1.0"

_PLACES = {
    "audit": "treewarden.api.auditing",
    "repair": "treewarden.api.repairing",
    "inspect": "treewarden.api.auditing",
    "search": "treewarden.api.searching",
    "privacy_scorer": "treewarden.api.searching",
    "Result": "treewarden.api.result",
    "Repair": "treewarden.api.repair_result",
    "Inspection": "treewarden.api.auditing",
    "Search": "treewarden.api.searching",
    "Verdict": "treewarden.api.result",
    "ArgumentError": "treewarden.api.requests",
    "VerdictError": "treewarden.api.requests",
    "FailedError": "treewarden.api.requests",
    "UndeterminedError": "treewarden.api.requests",
    "TreewardenError": "treewarden.ppdm_models.errors",
    "TreeFormatError": "treewarden.ppdm_models.errors",
    "TableError": "treewarden.ppdm_models.errors",
    "TooManyProfilesError": "treewarden.ppdm_models.errors",
    "KnowledgeError": "treewarden.ppdm_models.errors",
    "PolicyError": "treewarden.ppdm_models.errors",
    "SolverError": "treewarden.ppdm_models.errors",
    "RemedyError": "treewarden.ppdm_models.errors",
    "TaxonomyError": "treewarden.ppdm_models.errors",
    "OutputError": "treewarden.ppdm_models.errors",
}
"""Where each name lives."""

__all__ = ["__version__", *_PLACES]  # noqa: PLE0604  # all are texts


class _Package(ModuleType):
    """This package, whose name ``audit`` stays the function when the folder of audits is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _PLACES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    """Read a name where it lives (PEP 562)."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
