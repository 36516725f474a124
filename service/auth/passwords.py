"""Passwords and tokens: how they are kept, which are taken, and the one-time ones that others are given."""

from __future__ import annotations

import hashlib
import hmac
import importlib
import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from treewarden.service.errors import InvalidError, TooManyError

PREFIX = "tw_"
SHOWN = 10
"""How many signs of a token may be shown, so that its owner can tell it from others."""


def new_secret() -> str:
    """Return a new secret: 256 random bits, with a prefix that scanners of code can look for."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """Return what is kept of a secret; without salt, as nobody can try 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


SHORTEST = 12
LONGEST = 200
STRENGTH = 3
"""Of 0 to 4 as zxcvbn counts: to be guessed in no fewer than 10^8 tries."""
LONGEST_JUDGED = 72
"""Signs that zxcvbn looks at; more make a password no weaker."""
RANDOM = "random:"
_HASHER = PasswordHasher()


def new_password() -> str:
    """Return a one-time password: 120 random bits."""
    return secrets.token_urlsafe(15)


def random_hash_of(password: str) -> str:
    """Return what is kept of a one-time password; a digest is enough, as nobody can try 120 random bits."""
    return RANDOM + digest_of(password)


def hash_of(password: str) -> str:
    """Return what is kept of a password that somebody chose; takes a turn of ``treewarden.service.auth.passwords``."""
    return _HASHER.hash(password.encode("utf-8", "surrogatepass"))


def matches(password: str, stored_hash: str | None) -> bool:
    """Return whether a password is the one that is kept; takes as long, and a turn, whatever is kept or nothing."""
    if stored_hash is None or stored_hash.startswith(RANDOM):
        _verifies(password, _nobodys())
        return stored_hash is not None and hmac.compare_digest(
            random_hash_of(password), stored_hash
        )
    return _verifies(password, stored_hash)


def check_new(password: str, old: str, words: Sequence[str] = ()) -> None:
    """Check that a password can be taken; ``words`` are those that anybody would try first, such as the name.

    Raises:
        InvalidError: it is too short, too long, the old one, or easy to guess.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        problem = f"must have {SHORTEST} to {LONGEST} characters; choose another"
        raise InvalidError("new password", problem)
    if password == old:
        raise InvalidError("new password", "is the same as the old one; choose another")
    judge = importlib.import_module("zxcvbn").zxcvbn  # 12 MB of words, loaded when one is chosen
    judged = judge(password[:LONGEST_JUDGED], user_inputs=list(words))
    if judged["score"] < STRENGTH:
        problem = "is easy to guess (a common word, a name or a pattern); use a few random words"
        raise InvalidError("new password", problem)


def _verifies(password: str, hashed: str) -> bool:
    try:
        return _HASHER.verify(hashed, password.encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False


@cache
def _nobodys() -> str:
    return _HASHER.hash(secrets.token_bytes(16))


# Turns at hashing passwords: each hash takes 64 MiB and a processor, so few run at once and few wait.
#
# Whoever finds no place is refused before anything is hashed, read or written. Nobody has more than his share of the
# places, and browsers that signed in before have places of their own: strangers cannot take those.

AT_ONCE = 1
PLACES = 8
"""For strangers, and as many again for browsers that signed in before and for people in their session."""
SHARE = 2
"""Places that one address or account may have."""
RETRY_SECONDS = 2


class HashingQueue:
    """The places of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(AT_ONCE)
        self._taken: Counter[bool] = Counter()
        self._shares: Counter[tuple[bool, str]] = Counter()

    def take(self, whose: str, *, is_known: bool) -> AbstractContextManager[None]:
        """Take a place, and return what gives it back; ``whose`` names an address or an account.

        Raises:
            TooManyError: all places are taken, or the share of whoever asks.
        """
        share = (is_known, whose)
        with self._lock:
            if self._taken[is_known] >= PLACES or self._shares[share] >= SHARE:
                problem = "too many people are signing in; try again in a moment"
                raise TooManyError("sign-in", problem, RETRY_SECONDS)
            self._taken[is_known] += 1
            self._shares[share] += 1
        return self._share_held(share)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn; hash within it, and nothing else."""
        with self._turns:
            yield

    @contextmanager
    def _share_held(self, share: tuple[bool, str]) -> Iterator[None]:
        try:
            yield
        finally:
            with self._lock:
                self._taken[share[0]] -= 1
                self._shares[share] -= 1
                if not self._shares[share]:
                    del self._shares[share]
