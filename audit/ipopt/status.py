"""What IPOPT says of a solve: every return code, in one total table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


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
