"""Sessions of people in a browser, and all that somebody has to come in with."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Id, Page, PageRequest
from treewarden.service.schemas.people import EndedAccess, Session, Token
from treewarden.service.use_cases.accounts.authentication import (
    end_access,
    end_session,
    list_sessions,
    list_tokens,
)

ROUTER = APIRouter(tags=["people"])


@ROUTER.get("/sessions", **reads(Permission.READ))
def get_sessions(
    principal: Who, unit: Reading, query: Annotated[PageRequest, Query()]
) -> Page[Session]:
    """Return one's own sessions that go on; administrators see those of all."""
    return list_sessions(unit, principal, query)


@ROUTER.delete("/sessions/{session_id}", **asks(Permission.READ))
def delete_session(principal: Who, unit: Writing, session_id: Id) -> Session:
    """End a session."""
    return end_session(unit, principal, session_id)


@ROUTER.delete("/me/access", **asks(Permission.READ))
def delete_my_access(principal: Who, unit: Writing) -> EndedAccess:
    """End all one's sessions and revoke all one's tokens, but for the one that asks."""
    return end_access(unit, principal, principal.account_id)


@ROUTER.get("/accounts/{account_id}/sessions", **reads(Permission.ADMIN))
def get_account_sessions(
    principal: Who, unit: Reading, account_id: Id, query: Annotated[PageRequest, Query()]
) -> Page[Session]:
    """Return the sessions of an account that go on."""
    return list_sessions(unit, principal, query, account_id)


@ROUTER.get("/accounts/{account_id}/tokens", **reads(Permission.ADMIN))
def get_account_tokens(
    principal: Who, unit: Reading, account_id: Id, query: Annotated[PageRequest, Query()]
) -> Page[Token]:
    """Return the tokens of an account."""
    return list_tokens(unit, principal, query, account_id)


@ROUTER.delete("/accounts/{account_id}/access", **asks(Permission.ADMIN))
def delete_account_access(principal: Who, unit: Writing, account_id: Id) -> EndedAccess:
    """End all sessions of an account and revoke all its tokens, but for the one that asks."""
    return end_access(unit, principal, account_id)
