"""The doors to IPOPT by name: two ways to solve one model, the choice is the user's."""

from __future__ import annotations

from treewarden.audit.ipopt.backend import Door
from treewarden.audit.ipopt.casadi_backend import CasadiDoor
from treewarden.audit.ipopt.cyipopt_backend import CyipoptDoor
from treewarden.ppdm_models.errors import SolverError


def doors() -> dict[str, Door]:
    """Return the doors by the name that users type."""
    return {"casadi": CasadiDoor(), "cyipopt": CyipoptDoor()}


def door(name: str) -> tuple[str, Door]:
    """Return a door and its name; ``auto`` is CasADi's, which needs nothing but its package.

    Raises:
        SolverError: there is no such door, or what it needs is not installed.
    """
    known = doors()
    name = "casadi" if name == "auto" else name
    if name not in known:
        raise SolverError("solver", f"no solver {name!r}; have auto, {', '.join(known)}")
    known[name].version()
    return name, known[name]
