"""What is used of Pyomo, imported so that it leaves other packages alone.

Left to itself, Pyomo has all of ``scipy.stats`` imported along with SciPy, and ``pyplot`` along with Matplotlib,
whichever is imported first: half a second in each process. Nobody here needs those; who asks Pyomo for them gets them.
"""

from __future__ import annotations

import sys

import scipy

FIRST_FINDER = sys.meta_path[0]
"""What is asked first where a module is; Pyomo puts itself before it, to be told of imports."""

sys.modules.pop("scipy")  # out of Pyomo's sight while it looks who is there
try:
    import pyomo.core as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression
    from pyomo.repn.plugins.nl_writer import NLWriter
finally:
    sys.modules["scipy"] = scipy
    del sys.meta_path[: sys.meta_path.index(FIRST_FINDER)]

__all__ = ["LinearExpression", "NLWriter", "pyo"]
