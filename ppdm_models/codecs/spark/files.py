"""The folders of a saved Spark model: which one holds the trees, its settings, and the rows of its tables."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.archive import entries
from treewarden.ppdm_models.codecs.common.part import Part, read_part
from treewarden.ppdm_models.errors import TreeFormatError

ROWS = 1_000_000
"""The most rows of one table."""

VALUES = 10_000_000
"""The most values of one table: a few bytes can stand for many equal ones."""

KINDS = (
    "DecisionTreeClassificationModel",
    "DecisionTreeRegressionModel",
    "RandomForestClassificationModel",
    "RandomForestRegressionModel",
    "GBTClassificationModel",
    "GBTRegressionModel",
)


@dataclass(frozen=True, slots=True)
class Stage:
    """One saved part of a pipeline: its kind, its metadata, and the folder it stands in (``""`` or ending in ``/``)."""

    kind: str
    metadata: Part
    folder: str

    def setting(self, name: str) -> Part | None:
        """Return a parameter, the default where it was not set."""
        for key in ("paramMap", "defaultParamMap"):
            group = self.metadata.get(key)
            found = None if group is None else group.get(name)
            if found is not None:
                return found
        return None

    def text(self, name: str) -> str:
        """Return a parameter that is text; empty where it is not there."""
        found = self.setting(name)
        return "" if found is None else found.text()


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved model: its stages in name order, and its files."""

    stages: tuple[Stage, ...]
    files: dict[str, bytes]
    source: str

    def trees(self) -> Stage:
        """Return the stage that holds the trees.

        Raises:
            TreeFormatError: there is none, or there are several.
        """
        found = [stage for stage in self.stages if stage.kind in KINDS]
        if len(found) != 1:
            raise TreeFormatError(
                self.source,
                f"{len(found)} tree models among its stages; give one with a single one",
            )
        return found[0]

    def rows(self, stage: Stage, table: str) -> list[Part]:
        """Return the rows of a table (``data``, ``treesMetadata``) of a stage, all parts together.

        Raises:
            TreeFormatError: there is no such table, it cannot be read, or it is too large.
        """
        start = f"{stage.folder}{table}/"
        names = sorted(
            name
            for name in self.files
            if name.startswith(start)
            and name.endswith(".parquet")
            and not name[len(start) :].startswith((".", "_"))
        )
        if not names:
            raise TreeFormatError(
                f"{self.source}: {start}", "no Parquet file; give the whole folder"
            )
        found: list[Part] = []
        for name in names:
            rows = _rows(self.files[name], f"{self.source}: {name}")
            found.extend(Part(row, self.source, (name, index)) for index, row in enumerate(rows))
            if len(found) > ROWS:
                raise TreeFormatError(f"{self.source}: {start}", f"more than {ROWS:,} rows")
        return found


def read_saved(data: bytes, source: str) -> Saved:
    """Return the saved model in a zip archive.

    Raises:
        TreeFormatError: the archive or the metadata of a stage cannot be read.
    """
    files = entries(data, source)
    stages = []
    for name in sorted(files):
        folder, found, part = name.rpartition("metadata/")
        if found and part.startswith("part-") and (not folder or folder.endswith("/")):
            lines = files[name].strip().split(b"\n")
            metadata = read_part(lines[0], f"{source}: {name}")
            kind = metadata["class"].text()
            stages.append(Stage(kind.rpartition(".")[2], metadata, folder))
    if not stages:
        raise TreeFormatError(source, "no metadata of a Spark model; give the whole folder")
    return Saved(tuple(stages), files, source)


def _rows(data: bytes, where: str) -> list[object]:
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        metadata = file.metadata
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        values = sum(
            group.column(index).num_values for group in groups for index in range(group.num_columns)
        )
        if metadata.num_rows > ROWS or size > limits.BYTES or values > VALUES:
            raise TreeFormatError(where, f"more than {ROWS:,} rows or {VALUES:,} values")
        return list(file.read().to_pylist())
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
        raise TreeFormatError(where, f"a damaged Parquet file ({str(error)[:200]})") from error
