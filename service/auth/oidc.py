"""Signing in by OpenID Connect: another service says who somebody is (code flow with PKCE, state and nonce)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import OAuth2Client
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from treewarden.service.auth.principal import Role
from treewarden.service.errors import NotSignedInError, SetupError, UnavailableError
from treewarden.service.settings import Settings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signatures by keys that only the provider has: “none”, and those by a shared secret, are not taken."""
LEEWAY_SECONDS = 60
TIMEOUT_SECONDS = 10.0
LOOPBACK = ("127.0.0.1", "::1", "localhost")
DISCOVERY = "/.well-known/openid-configuration"
SCOPE = "openid profile email"


@dataclass(frozen=True, slots=True)
class SignInStart:
    """What a browser keeps, sealed, until it comes back; ``url`` is where it is sent."""

    url: str
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody as the provider knows them: ``subject`` never changes and holds for this provider alone."""

    subject: str
    name: str


def check_oidc(settings: Settings) -> None:
    """Check that people can sign in by the provider, where there is one.

    Raises:
        SetupError: something about it is missing, or cannot be.
    """
    if not settings.oidc_issuer:
        return
    _secure(settings.oidc_issuer)
    for name in ("oidc_client_id", "oidc_organisation"):
        if not getattr(settings, name):
            raise SetupError(
                f"TREEWARDEN_{name.upper()}", "is missing; set it together with the issuer"
            )
    if settings.oidc_role not in tuple(Role):
        problem = f"is not a role; choose one of {', '.join(Role)}"
        raise SetupError("TREEWARDEN_OIDC_ROLE", problem)


def begin(settings: Settings, back: str) -> SignInStart:
    """Return where to send a browser; the provider sends it ``back``.

    Raises:
        UnavailableError: the provider cannot be reached, or answers something else.
    """
    verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    with _provider(settings, back) as client:
        where = _address(_described(settings, client), "authorization_endpoint")
        url, state = client.create_authorization_url(where, code_verifier=verifier, nonce=nonce)
    return SignInStart(url, state, nonce, verifier)


def finish(settings: Settings, back: str, begun: SignInStart, code: str) -> Person:
    """Return who came back with ``code``.

    Raises:
        NotSignedInError: the provider does not vouch for anybody.
        UnavailableError: the provider cannot be reached, or answers something else.
    """
    with _provider(settings, back) as client:
        described = _described(settings, client)
        try:
            given = client.fetch_token(
                _address(described, "token_endpoint"), code=code, code_verifier=begun.verifier
            )
            keys = client.request("GET", _address(described, "jwks_uri"), withhold_token=True)
            token = jwt.decode(
                str(given["id_token"]), KeySet.import_key_set(keys.json()), algorithms=ALGORITHMS
            )
            _registry(settings, begun).validate(token.claims)
        except httpx2.HTTPError as error:
            raise _unreachable() from error
        except (AuthlibBaseError, JoseError, KeyError, ValueError, TypeError) as error:
            problem = "the provider did not confirm who you are; try again"
            raise NotSignedInError("sign-in", problem) from error
    return _person(settings, token.claims)


def _registry(settings: Settings, begun: SignInStart) -> jwt.JWTClaimsRegistry:
    return jwt.JWTClaimsRegistry(
        leeway=LEEWAY_SECONDS,
        iss={"essential": True, "value": settings.oidc_issuer},
        aud={"essential": True, "value": settings.oidc_client_id},
        azp={"value": settings.oidc_client_id},
        nonce={"essential": True, "value": begun.nonce},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
    )


def _person(settings: Settings, claims: dict[str, Any]) -> Person:
    subject = str(claims["sub"])
    names = (claims.get("preferred_username"), claims.get("email"), subject)
    name = next(str(each) for each in names if each)
    return Person(f"{settings.oidc_issuer} {subject}", name)


def _provider(settings: Settings, back: str) -> OAuth2Client:
    secret = settings.oidc_client_secret.get_secret_value()
    return OAuth2Client(
        settings.oidc_client_id,
        secret or None,
        token_endpoint_auth_method="client_secret_basic" if secret else "none",  # noqa: S106  # the name of a method
        scope=SCOPE,
        redirect_uri=back,
        code_challenge_method="S256",
        timeout=TIMEOUT_SECONDS,
    )


def _described(settings: Settings, client: OAuth2Client) -> dict[str, Any]:
    """Return what the provider says of itself; it has to be the one that was asked."""
    url = settings.oidc_issuer.rstrip("/") + DISCOVERY
    try:
        found = client.request("GET", url, withhold_token=True).raise_for_status().json()
    except (httpx2.HTTPError, ValueError) as error:
        raise _unreachable() from error
    if not isinstance(found, dict) or found.get("issuer") != settings.oidc_issuer:
        raise _unreachable()
    return found


def _address(described: dict[str, Any], name: str) -> str:
    try:
        return _secure(str(described.get(name, "")))
    except SetupError as error:
        raise _unreachable() from error


def _secure(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return url
    raise SetupError("TREEWARDEN_OIDC_ISSUER", "must be an https address")


def _unreachable() -> UnavailableError:
    problem = "the provider gave an invalid answer; try again, or sign in with a password"
    return UnavailableError("sign-in", problem)
