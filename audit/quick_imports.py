"""Imports SciPy without what Pyomo has imported along with it, which takes half a second in each process."""

from __future__ import annotations

import importlib
import sys

import numpy  # noqa: F401, ICN001  # Pyomo gets to know the types of what is there before it
import pyomo.common.dependencies as pyomo_dependencies


def import_scipy() -> None:
    """Import SciPy's top level out of Pyomo's sight, which would have all of ``scipy.stats`` imported too.

    Nobody here needs that; where Pyomo does, it still gets it.
    """
    kind = getattr(pyomo_dependencies, "DeferredImportCallbackFinder", ())
    finders = [finder for finder in sys.meta_path if isinstance(finder, kind)]
    for finder in finders:
        sys.meta_path.remove(finder)
    try:
        importlib.import_module("scipy")
    finally:
        sys.meta_path[:0] = finders
