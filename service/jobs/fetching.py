"""Brings the sealed files that an order names to this machine, for its process, which reaches no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from treewarden.service.jobs.orders import JobOrder, SealedFile
from treewarden.service.vault.vault import Vault

FILES = ("model", "other", "table")
"""The fields of an order that may be files of the vault."""


@contextmanager
def fetched(vault: Vault, order: JobOrder, progress: Callable[[], None]) -> Iterator[JobOrder]:
    """Give an order that says where the files are; copies are removed afterwards, and were never unsealed.

    ``progress`` is called again and again meanwhile; what it raises ends it.

    Raises:
        NotFoundError: a file was erased.
        UnavailableError: a file cannot be read just now.
    """
    places: dict[str, SealedFile] = {}
    with ExitStack() as copies:
        for field in FILES:
            file = getattr(order, field)
            if isinstance(file, SealedFile):
                copy = vault.sealed_file(file.blob_id, file.digest, progress)
                place = str(copies.enter_context(copy))
                places[field] = file.model_copy(update={"place": place})
        yield order.model_copy(update=places)
