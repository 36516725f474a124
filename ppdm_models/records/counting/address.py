"""Addresses of tables in databases: ``postgresql://user@host/database#schema.table``, and what of them may be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qs, urlsplit

from treewarden.ppdm_models.errors import TableError

SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://?")
SECRET = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
"""What settings of drivers are called that are nobody else's business."""
POSTGRESQL = frozenset({"postgresql", "postgres"})
HOW = "give it as postgresql://USER@HOST/DATABASE#SCHEMA.TABLE"


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A table of a database. ``url`` opens it and may hold a password: it is for the driver alone, and never shown."""

    url: str
    table: str

    @property
    def scheme(self) -> str:
        """What kind of database it is."""
        return self._parts.scheme.lower()

    @property
    def name(self) -> str:
        """What it is called in messages and reports: no user, no password, no settings, no folder."""
        host = _host(self._parts)
        at = f" at {host}" if host else ""
        where = self._parts.path.rpartition("/")[2]
        return f"{self.table} in {where or 'a database'} ({self.scheme}{at})".replace(
            "\\", "_"
        ).replace("/", "_")

    @property
    def has_password(self) -> bool:
        """Whether it has a password, or a setting that is called like one."""
        settings = parse_qs(self._parts.query, keep_blank_values=True)
        return bool(self._parts.password) or any(map(SECRET.search, settings))

    def __str__(self) -> str:
        """As it may be typed again: its user, but no password and no settings, as these may hold one."""
        user = self._parts.netloc.rpartition("@")[0].partition(":")[0]
        at = f"{user}@" if user else ""
        return f"{self.scheme}://{at}{_host(self._parts)}{self._parts.path}#{self.table}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)


def is_address(text: str) -> bool:
    """Return whether a text is an address of a database, not a path."""
    return "://" in text and SCHEME.match(text) is not None


def address_of(text: str) -> Address:
    """Return the address that a text is.

    Raises:
        TableError: it names no table, or is no address.
    """
    url, sign, table = text.rpartition("#")
    if not sign or not table:
        scheme = text.partition("://")[0]
        raise TableError(f"{scheme}://", f"the address names no table; {HOW}")
    try:
        found = Address(url, table)
        found.name.encode("utf-8")
    except (ValueError, UnicodeEncodeError) as error:
        raise TableError("data", f"not an address of a table; {HOW}") from error
    return found


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]
