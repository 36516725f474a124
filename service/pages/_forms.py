"""What browsers send, as pages take it: refusals in words for whoever filled the form, and waiting without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from treewarden.service.errors import ServiceError, TooManyError

SEE_OTHER = 303
WORDS = {
    "missing": "is missing",
    "string_too_short": "is missing",
    "string_too_long": "is too long",
    "string_pattern_mismatch": "has signs that cannot stand there, or is empty",
    "value_error": "cannot be",
}


def see(path: str) -> RedirectResponse:
    """Return what leads a browser on after a form was taken, so that going back does not send it twice."""
    return RedirectResponse(path, SEE_OTHER)


def refusal(error: ServiceError | ValidationError, labels: Mapping[str, str]) -> str:
    """Return why a form was not taken, for whoever filled it; nothing that was typed is repeated.

    A field is called as the page calls it: ``labels`` is the form's of ``_labels``.
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
