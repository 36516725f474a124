"""How the values of a randomised table are distributed: the table and its manifest in, a document out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treewarden.audit.stages import Step, silent
from treewarden.ppdm_models.errors import LearnerError, TableError
from treewarden.ppdm_models.methods.randomised.manifest import (
    Hidden,
    check_has,
    check_is_of,
    load_manifest,
)
from treewarden.ppdm_models.methods.randomised.reconstruction import (
    STOP,
    Distribution,
    Kernel,
    beside_true,
    distributions_of,
)
from treewarden.ppdm_models.tables.batches import open_batches
from treewarden.ppdm_models.tables.table import listed
from treewarden.reports.building.randomised import reconstruction_document
from treewarden.reports.document.randomised import RandomisedDocument
from treewarden.reports.document.words import counted


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for; ``columns`` empty: all that are hidden. ``true`` is the table with the true values."""

    table: Path
    manifest: Path
    true: Path | None = None
    columns: tuple[str, ...] = ()
    kernel: Kernel = Kernel.MIDPOINT
    stop: float = STOP

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read, which nothing may overwrite."""
        return tuple(each for each in (self.table, self.manifest, self.true) if each is not None)


def reconstructed(wanted: Wanted, step: Step = silent) -> RandomisedDocument:
    """Return what can be recovered of a randomised table.

    Raises:
        ManifestError: the manifest is not understood, or is of another file.
        TableError: a table cannot be read, lacks a column, or has too few values.
        LearnerError: a column that is asked for is not hidden.
        OSError: a file cannot be read.
    """
    manifest = load_manifest(wanted.manifest)
    with step(f"reading {wanted.table.name}"):
        check_is_of(manifest, wanted.table, wanted.manifest.name)
        table = open_batches(wanted.table)
        check_has(manifest, table.names, wanted.manifest.name)
        columns = _columns(wanted, manifest.columns)
    with step(f"reconstructing {counted(len(columns), 'distribution', 'distributions')}"):
        found = distributions_of(table, columns, manifest.records, wanted.kernel, wanted.stop)
    if wanted.true is not None:
        with step(f"reading {wanted.true.name}"):
            true = open_batches(wanted.true)
            for each in columns:
                if each.name not in true.names:
                    have = listed(true.names)
                    raise TableError(true.source, f"no column {each.name!r}; have {have}")
            found = beside_true(true, found)
    return reconstruction_document(manifest, found, tuple(warnings_of(found)))


def warnings_of(found: tuple[Distribution, ...]) -> list[str]:
    """Return what is worth a word of distributions."""
    said = []
    for each in found:
        if each.missing:
            records = counted(each.missing, "record has", "records have")
            said.append(f"{records} no value of {each.said.name!r}; they count for nothing")
        if not each.is_settled:
            said.append(
                f"the distribution of {each.said.name!r} did not settle after {each.steps:,} steps; say a larger --stop"
            )
    return said


def _columns(wanted: Wanted, hidden: tuple[Hidden, ...]) -> tuple[Hidden, ...]:
    if not wanted.columns:
        return hidden
    known = {each.name: each for each in hidden}
    for name in wanted.columns:
        if name not in known:
            problem = f"column {name!r} is not hidden, so there is nothing to reconstruct"
            raise LearnerError(wanted.manifest.name, f"{problem}; hidden are {listed(known)}")
    return tuple(known[name] for name in wanted.columns)
