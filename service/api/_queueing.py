"""The queue before the form to sign in: whoever finds no place is refused before a thread or the database is asked."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from treewarden.service.api._answers import problem_of
from treewarden.service.api._requests import address_of, cookie_name
from treewarden.service.errors import TooManyError
from treewarden.service.site import Site
from treewarden.service.use_cases.accounts.attempts import KnownBrowser, network_of, read_browsers

PATH = "/sign-in"
BROWSER = "treewarden_browser_"
"""What the cookies of a browser begin with that somebody signed in with before: one for each account."""
MOST_BROWSERS = 10


def browsers_of(site: Site, cookies: Mapping[str, str]) -> tuple[KnownBrowser, ...]:
    """Return what the cookies of a browser say of who signed in with it before."""
    begin = cookie_name(site.settings, BROWSER)
    values = [value for name, value in cookies.items() if name.startswith(begin)]
    return read_browsers(site, values[:MOST_BROWSERS])


class SignInQueue:
    """Has a request to sign in hold a place while it is answered; its body was read before."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_asked = scope["type"] == "http" and (scope["method"], scope["path"]) == ("POST", PATH)
        if not is_asked:
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        browsers = browsers_of(self.site, request.cookies)
        whose = browsers[0].account_id if browsers else network_of(address_of(request))
        try:
            place = self.site.hashing.take(whose, is_known=bool(browsers))
        except TooManyError as error:
            await problem_of(PATH, error)(scope, receive, send)
            return
        with place:
            await self.app(scope, receive, send)
