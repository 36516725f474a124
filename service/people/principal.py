"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.service.errors import ForbiddenError
from treewarden.service.people.permissions import Permission, Role


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody of an organisation who was recognised, and what may be done in this request.

    ``permissions`` are those of the role, or fewer where a token is limited. ``token_id`` and ``session_id`` say how
    somebody was recognised; both are None for the command line.
    """

    organisation_id: str
    account_id: str
    name: str
    role: Role
    permissions: frozenset[Permission]
    token_id: str | None = None
    session_id: str | None = None

    def may(self, permission: Permission) -> bool:
        """Return whether something may be done."""
        return permission in self.permissions

    def check(self, permission: Permission) -> None:
        """Check that something may be done.

        Raises:
            ForbiddenError: it may not.
        """
        if not self.may(permission):
            problem = f"{self.role} {self.name!r} may not do that here; it needs the permission {permission.value!r}"
            raise ForbiddenError("account", problem)
