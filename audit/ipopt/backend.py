"""The IPOPT backend: what it is asked, what it answers, whether it works, and a total table of its return codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from treewarden.audit.ipopt.model import Loaded, load_model, small_model
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import SolverError


class Status(StrEnum):
    """What a solver said; whether its answer is used is decided elsewhere, by re-checking it."""

    SOLVED = "solved"
    ACCEPTABLE = "acceptable"
    INFEASIBLE = "locally infeasible"
    OUT_OF_ITERATIONS = "out of iterations"
    OUT_OF_TIME = "out of time"
    FAILED = "failed"


STATUS: Mapping[int, Status] = {
    0: Status.SOLVED,
    1: Status.ACCEPTABLE,
    2: Status.INFEASIBLE,
    3: Status.FAILED,
    4: Status.FAILED,
    5: Status.FAILED,
    6: Status.SOLVED,
    -1: Status.OUT_OF_ITERATIONS,
    -2: Status.FAILED,
    -3: Status.FAILED,
    -4: Status.OUT_OF_TIME,
    -5: Status.OUT_OF_TIME,
    -10: Status.FAILED,
    -11: Status.FAILED,
    -12: Status.FAILED,
    -13: Status.FAILED,
    -100: Status.FAILED,
    -101: Status.FAILED,
    -102: Status.FAILED,
    -199: Status.FAILED,
}
"""IPOPT's return codes (IpReturnCodes_inc.h), all of them; a code that is not here is an error."""

STATUS_NAMES: Mapping[str, int] = {
    "Solve_Succeeded": 0,
    "Solved_To_Acceptable_Level": 1,
    "Infeasible_Problem_Detected": 2,
    "Search_Direction_Becomes_Too_Small": 3,
    "Diverging_Iterates": 4,
    "User_Requested_Stop": 5,
    "Feasible_Point_Found": 6,
    "Maximum_Iterations_Exceeded": -1,
    "Restoration_Failed": -2,
    "Error_In_Step_Computation": -3,
    "Maximum_CpuTime_Exceeded": -4,
    "Maximum_WallTime_Exceeded": -5,
    "Not_Enough_Degrees_Of_Freedom": -10,
    "Invalid_Problem_Definition": -11,
    "Invalid_Option": -12,
    "Invalid_Number_Detected": -13,
    "Unrecoverable_Exception": -100,
    "NonIpopt_Exception_Thrown": -101,
    "Insufficient_Memory": -102,
    "Internal_Error": -199,
}


IPOPT_OPTIONS: Mapping[str, str | int | float] = {
    "tol": 1e-8,
    "max_iter": 400,
    "bound_relax_factor": 0.0,
    "nlp_scaling_method": "none",
    "print_level": 0,
    "sb": "yes",
    "mumps_pivot_order": 0,
    "alpha_for_y": "primal-and-full",
    "min_refinement_steps": 0,  # still refined where the residual is too large
}


@dataclass(frozen=True, slots=True)
class Solution:
    """A solver's answer: values of ``model.z``, multipliers of the linear rows, the split rows and the bounds."""

    z: FloatArray
    linear: FloatArray
    split: FloatArray
    bounds: FloatArray
    status: Status
    iterations: int


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a door works, tried by solving a small problem; its version, or why it does not."""

    works: bool
    version: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BackendAnswer:
    """An answer, its row multipliers in the order of the ``.nl`` file."""

    x: FloatArray
    row_multipliers: FloatArray
    bound_multipliers: FloatArray
    code: int
    iterations: int


class LoadedSolver(ABC):
    """Solves one loaded model, which stays as it is, from as many starts as are wanted.

    What a door makes of the model, it keeps here for the next start: it goes when the solver goes.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded

    @abstractmethod
    def run(
        self, start: FloatArray, high: FloatArray, eps: float, options: Mapping[str, float | str]
    ) -> BackendAnswer:
        """Solve from a start, under these upper bounds of the variables."""

    def solve(
        self, z: FloatArray, eps: float, *, held_count: int = 0, **options: float | str
    ) -> Solution:
        """Solve from ``z`` with the given weight of the eps term and IPOPT options.

        The last ``held_count`` variables stay at their lower bounds.

        Raises:
            SolverError: the door cannot be used.
        """
        loaded, high = self.loaded, self.loaded.upper_bounds_holding(held_count)
        raw = (
            _unsolvable(loaded, z)
            if loaded.has_rows_to_spare(high)
            else self.run(z, high, eps, {**IPOPT_OPTIONS, **options})
        )
        if raw.code not in STATUS:
            raise SolverError("IPOPT", f"return code {raw.code} is not known; report this")
        return Solution(
            z=raw.x,
            linear=raw.row_multipliers[loaded.linear_rows],
            split=raw.row_multipliers[loaded.split_rows],
            bounds=raw.bound_multipliers,
            status=STATUS[raw.code],
            iterations=raw.iterations,
        )


class Door(ABC):
    """One way to an IPOPT."""

    @abstractmethod
    def version(self) -> str:
        """Return the versions behind the door.

        Raises:
            SolverError: the door's package is not installed.
        """

    @abstractmethod
    def opened(self, loaded: Loaded) -> LoadedSolver:
        """Return what solves a loaded model by way of this door."""

    def probe(self) -> Probe:
        """Solve a small problem and say whether that worked."""
        try:
            version = self.version()
            solver = self.opened(load_model(small_model()))
            solution = solver.solve(np.array([0.5, 0.3, 0.2]), 0.0)
        except (SolverError, RuntimeError, ImportError) as error:
            return Probe(False, "", str(error))
        if solution.status is not Status.SOLVED or not np.allclose(solution.z, 1 / 3, atol=1e-6):
            return Probe(False, version, f"the small problem was not solved: {solution.status}")
        return Probe(True, version)


def _unsolvable(loaded: Loaded, start: FloatArray) -> BackendAnswer:
    """Return what IPOPT says where equalities outnumber variables; asked, CasADi would print a warning too."""
    code = STATUS_NAMES["Not_Enough_Degrees_Of_Freedom"]
    return BackendAnswer(start, np.zeros(len(loaded.row_low)), np.zeros(len(start)), code, 0)
