"""The errors that only Python meets, of the one family that the command line tells of."""

from __future__ import annotations

from treewarden.ppdm_models.errors import TreewardenError


class ArgumentError(TreewardenError, ValueError):
    """An argument is not what is needed, or does not go with another."""


class VerdictError(TreewardenError):
    """The policy does not pass: what ``raise_for_verdict`` raises."""


class FailedError(VerdictError):
    """A clause of the policy does not hold."""


class UndeterminedError(VerdictError):
    """Something could not be decided, which is never a pass."""
