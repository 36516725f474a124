"""The doors to IPOPT by name: two ways to solve one model, the choice is the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewarden.ppdm_models.errors import SolverError

if TYPE_CHECKING:  # Pyomo and CasADi
    from treewarden.audit.ipopt.backend import Door

AUTO = "auto"
"""IPOPT only where neither multipliers nor the barrier method lead to an optimum; then by way of CasADi's package."""
CASADI = "casadi"
"""The door that needs nothing but its package."""


def doors() -> dict[str, Door]:
    """Return the doors by the name that users type."""
    from treewarden.audit.ipopt.solver_backends import (
        CasadiDoor,  # heavy: for a solve only
        CyipoptDoor,  # heavy: for a solve only
    )

    return {CASADI: CasadiDoor(), "cyipopt": CyipoptDoor()}


def backend_of(name: str) -> str:
    """Return the door that IPOPT is asked by, of those that users name."""
    return CASADI if name == AUTO else name


def check_door(name: str) -> str:
    """Return the name of a door: what it needs is there. CasADi's package comes with this one.

    Raises:
        SolverError: there is no such door, or what it needs is not installed.
    """
    if name not in (AUTO, CASADI):
        door(name)
    return name


def door(name: str) -> tuple[str, Door]:
    """Return a door and its name; ``auto`` is CasADi's, which needs nothing but its package.

    Raises:
        SolverError: there is no such door, or what it needs is not installed.
    """
    known = doors()
    name = backend_of(name)
    if name not in known:
        raise SolverError("solver", f"no solver {name!r}; have auto, {', '.join(known)}")
    known[name].version()
    return name, known[name]
