"""Pages about what somebody has to come in with: sessions and tokens, one's own or, for administrators, anybody's."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.pages._forms import see
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.schemas.people import Account
from treewarden.service.site import Unit
from treewarden.service.use_cases.accounts.authentication import (
    end_access,
    end_session,
    list_sessions,
    list_tokens,
    revoke_token,
)
from treewarden.service.use_cases.accounts.people import get_account

ROUTER = APIRouter(tags=["pages"])
OWN, ANYBODYS = "/account/access", "/administration/people/{account_id}/access"


@ROUTER.get(OWN, **reads(Permission.READ))
def get_own(request: Request, principal: Who, unit: Reading) -> Response:
    """Show one's own sessions and tokens."""
    return _render_page(request, unit, principal, None)


@ROUTER.post(OWN, **asks(Permission.READ))
def post_own(principal: Who, unit: Writing) -> Response:
    """End all of them but this session."""
    end_access(unit, principal, principal.account_id)
    return see(OWN)


@ROUTER.post(f"{OWN}/sessions/{{session_id}}", **asks(Permission.READ))
def post_own_session(principal: Who, unit: Writing, session_id: Id) -> Response:
    """End one session."""
    end_session(unit, principal, session_id)
    return see(OWN)


@ROUTER.post(f"{OWN}/tokens/{{token_id}}", **asks(Permission.READ))
def post_own_token(principal: Who, unit: Writing, token_id: Id) -> Response:
    """Revoke one token."""
    revoke_token(unit, principal, token_id)
    return see(OWN)


@ROUTER.get(ANYBODYS, **reads(Permission.ADMIN))
def get_anybodys(request: Request, principal: Who, unit: Reading, account_id: Id) -> Response:
    """Show the sessions and tokens of an account."""
    return _render_page(request, unit, principal, get_account(unit, principal, account_id))


@ROUTER.post(ANYBODYS, **asks(Permission.ADMIN))
def post_anybodys(principal: Who, unit: Writing, account_id: Id) -> Response:
    """End all of them, but for the session that asks."""
    end_access(unit, principal, account_id)
    return see(ANYBODYS.format(account_id=account_id))


@ROUTER.post(f"{ANYBODYS}/sessions/{{session_id}}", **asks(Permission.ADMIN))
def post_session(principal: Who, unit: Writing, account_id: Id, session_id: Id) -> Response:
    """End one session."""
    end_session(unit, principal, session_id)
    return see(ANYBODYS.format(account_id=account_id))


@ROUTER.post(f"{ANYBODYS}/tokens/{{token_id}}", **asks(Permission.ADMIN))
def post_token(principal: Who, unit: Writing, account_id: Id, token_id: Id) -> Response:
    """Revoke one token."""
    revoke_token(unit, principal, token_id)
    return see(ANYBODYS.format(account_id=account_id))


def _render_page(
    request: Request, unit: Unit, principal: Principal, somebody: Account | None
) -> Response:
    account_id = principal.account_id if somebody is None else somebody.id
    page_request = PageRequest(limit=200)
    tokens = list_tokens(unit, principal, page_request, account_id).items
    return page(
        request,
        "access.html.j2",
        principal,
        name=None if somebody is None else somebody.name,
        sessions=list_sessions(unit, principal, page_request, account_id).items,
        tokens=[
            token
            for token in tokens
            if token.revoked_at is None
            and (token.expires_at is None or token.expires_at > unit.now)
        ],
    )
