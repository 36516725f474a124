"""Files in a model's folder or archive that are no part of it: a table that lies there is published with the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from treewarden.ppdm_models.tree.leaks import Leak, LeakKind


def stray_files(names: Iterable[str], is_part: Callable[[str], bool]) -> Iterator[Leak]:
    """Yield one leak per file that the format has no use for; nobody looked into it."""
    for name in names:
        if not is_part(name):
            what = "a file that is no part of the model: nobody looked into it"
            yield Leak(LeakKind.UNKNOWN, name, what)
