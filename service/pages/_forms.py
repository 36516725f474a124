"""What browsers send, as pages take it: refusals in words for whoever filled the form, and waiting without scripts.

Cookies: out of reach of scripts, and of other sites but for following a link; bound to this host by https.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import StringConstraints, ValidationError

from treewarden.service.api._guarding import BROWSER
from treewarden.service.api._requests import COOKIE, cookie_name
from treewarden.service.auth.passwords import digest_of
from treewarden.service.errors import ServiceError, TooManyError
from treewarden.service.settings import Settings
from treewarden.service.site import Site
from treewarden.service.use_cases.accounts.attempts import (
    SECONDS,
    KnownBrowser,
    new_browser,
    seal_browser,
)


def keep_cookie(
    answer: Response, settings: Settings, name: str, value: str, seconds: int | None = None
) -> None:
    """Have a browser keep a cookie, until it is closed where nothing is said; one of that name is replaced."""
    answer.set_cookie(
        cookie_name(settings, name),
        value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=settings.is_secure,
    )


def drop_cookie(answer: Response, settings: Settings, name: str) -> None:
    """Have a browser forget a cookie."""
    answer.delete_cookie(
        cookie_name(settings, name), httponly=True, samesite="lax", secure=settings.is_secure
    )


def keep_session(answer: Response, settings: Settings, secret: str) -> None:
    """Have a browser keep a session; one that was there before is replaced."""
    keep_cookie(answer, settings, COOKIE, secret)


def drop_session(answer: Response, settings: Settings) -> None:
    """Have a browser forget a session."""
    drop_cookie(answer, settings, COOKIE)


def keep_browser(
    answer: Response, site: Site, browsers: tuple[KnownBrowser, ...], account_id: str
) -> None:
    """Have a browser keep that an account signed in with it."""
    mine = next(
        (known_browser for known_browser in browsers if known_browser.account_id == account_id),
        None,
    )
    name = BROWSER + digest_of(account_id)[:12]
    value = seal_browser(site, mine or new_browser(account_id))
    keep_cookie(answer, site.settings, name, value, SECONDS)


SEE_OTHER = 303
WORDS = {
    "missing": "is missing",
    "string_too_short": "is missing",
    "string_too_long": "is too long; shorten it",
    "string_pattern_mismatch": ("is empty or contains characters that are not allowed; correct it"),
    "value_error": "is not valid; correct it",
}


def see(path: str) -> RedirectResponse:
    """Return what leads a browser on after a form was taken, so that going back does not send it twice."""
    return RedirectResponse(path, SEE_OTHER)


def refusal(error: ServiceError | ValidationError, labels: Mapping[str, str]) -> str:
    """Return why a form was not taken, for whoever filled it; nothing that was typed is repeated.

    A field is called as the page calls it: ``labels`` is the mapping of its form, as ``PERSON``.
    """
    if isinstance(error, ServiceError):
        label = labels.get(error.where.removeprefix("options: "))
        return str(error) if label is None else label + str(error).removeprefix(error.where)
    told = []
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        place = [str(part) for part in each["loc"]]
        name = labels.get(place[0], place[0].replace("_", " ")) if place else "the form"
        told.append(f"{name}: {WORDS.get(each['type'], each['msg'].lower())}")
    return "; ".join(dict.fromkeys(told))


def status_of(error: ServiceError | ValidationError) -> int:
    """Return the status of a page that shows a refusal."""
    return error.status if isinstance(error, ServiceError) else 422


def with_wait(answer: Response, error: ServiceError | ValidationError | None) -> Response:
    """Return a page that shows a refusal, with when to try again where that is known."""
    if isinstance(error, TooManyError):
        answer.headers["Retry-After"] = str(error.retry_seconds)
    return answer


def day_of(text: str) -> date | None:
    """Return a day that was typed or picked; None where it is none."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None


def is_asked_again(request: Request) -> bool:
    """Return whether a page asks, by itself, whether what it waits for has come."""
    return request.headers.get("hx-request") == "true"


def waited(has_come: bool) -> Response:
    """Return the answer to a page that asks again: nothing yet, or that it may be loaded anew."""
    return Response(status_code=204) if not has_come else Response(headers={"HX-Refresh": "true"})


# A field of a form as somebody typed it.

Typed = Annotated[str, StringConstraints(strip_whitespace=True)]
"""Without what stands around it, as nobody sees that."""

Words = Annotated[Typed, Query(max_length=200)]
"""What a list is looked through for."""


# What the fields of each form are called: its page shows that, and a refusal names the same.
#
# Each form is a mapping from what the field is sent as to its label.

PASSWORD = {"password": "Password", "new_password": "New password"}
NOTICES = {"address": "E-mail address"}
SIGN_IN = {"organisation": "Organisation", "name": "Name", **PASSWORD}
PERSON = {"name": "Name", "role": "Role"}
TOKEN = {
    "name": "Purpose",
    "permissions": "Permissions",
    "days": "Days until it expires",
}
RETENTION = {
    "report_days": "Days that reports are kept",
    "keeps_profiles": "Confidential reports",
    "checklist": "Checklist of a release",
}
WEBHOOK = {"url": "Address", "events": "Events"}
PACK = {"toml": "Policy as TOML", "note": "What is new in this version"}
WAIVERS_FILE = {"toml": "Content of the file"}
WAIVER = {
    "clause": "Check",
    "model": "Model",
    "leaf": "Leaf",
    "digest": "File",
    "worst": "Not worse than",
    "reason": "Why this can be accepted",
    "owner": "Responsible person",
    "ticket": "Where it was decided",
    "expires": "Last day on which it is valid",
}
WAIVER_OF_FINDING = {field: WAIVER[field] for field in ("reason", "owner", "ticket", "expires")}
WAIVER_DECISION = {"comment": "Why"}
RELEASE = {"title": "Title", "purpose": "What it is published for"}
RELEASE_DECISION = {"decision": "Your decision", "comment": "Why", "text": "A remark"}
FILES = {
    "model_id": "Model",
    "name": "Name of the new model",
    "description": "Purpose",
    "model_file": "Model file",
    "table_file": "Table file",
    "table_path": "Or a file on the server",
    "output_files": "Outputs published with the model",
    "dictionary_file": "Data dictionary",
}
COMPARISON = {"to": "Audit"}
SHARE = {"name": "Name of a person"}
LEAST_POLICY = {"pack": "Minimum policy"}
AUDIT = {
    "sensitive": "Protected column",
    "qi": "Known to the adversary",
    "pack": "Policy",
    "kind": "What to do",
    "keeps_table": "Keep the table if the model does not pass",
    "register_id": "Register of candidates: everyone who might be in the table",
    "output_ids": "Outputs published with the model",
    "dictionary_id": "Data dictionary",
    "waivers": "Approved waivers count",
    "purpose": "What it is published for",
    "leaf": "Known about each leaf",
    "split": "The criterion of the splits",
    "row_order": "The order of the table’s records",
    "weights": "Column with the number of people per row",
    "worlds_budget": "Seconds to search for proofs",
    "marginal": "The adversary knows each class’s overall share",
    "accuracy": "The adversary knows the training accuracy",
    "knows": "Columns that the neighbour knows",
    "secret": "Another column to protect",
    "bins": "Cut points for its numbers",
    "target_known": "The neighbour knows what the model predicts for a person",
    "knowledge": "Knowledge file",
    "domain": "Public domain: the possible values of each column",
    "claims": "Claim of differential privacy",
}
FORMS = {
    "account": {**PASSWORD, **NOTICES},
    "asked": AUDIT,
    "audit": COMPARISON,
    "pack_new": PACK,
    "least_policy": LEAST_POLICY,
    "people": PERSON,
    "release": RELEASE_DECISION,
    "retention": RETENTION,
    "sign_in": SIGN_IN,
    "submit": FILES,
    "tokens": TOKEN,
    "waive": WAIVER_OF_FINDING,
    "waiver": WAIVER_DECISION,
    "waiver_new": WAIVER,
    "waivers_import": WAIVERS_FILE,
    "webhooks": WEBHOOK,
    "wish_release": RELEASE,
}
"""Templates with a form, and what its fields are called."""


def labels_of(template: str) -> Mapping[str, str]:
    """Return what the fields on a template's page are called; nothing where it has no form of its own."""
    return FORMS.get(template.removesuffix(".html.j2"), {})
