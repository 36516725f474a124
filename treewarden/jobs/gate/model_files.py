"""Which files of a repository may be models: by name, and by how their bytes start; nothing is loaded for it.

What looks like a model here is asked of the formats themselves by ``uncovered``; a file of a kind that runs code when
it is opened, or that only its own program opens, is taken for one: nobody else can say that it is none.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from treewarden.ppdm_models.unsupported_files import PEEKED, Foreign, foreign, unpacked_start

_SUFFIXES = """
.pmml .skops .onnx .cbm .pkl .pickle .dill .cloudpickle .joblib .jbl .rds .rda .rdata .ubj .ubjson .booster
.lgb .lgbm .xgb .mojo .mlmodel .mleap .pt .pth .keras .safetensors .tflite
"""
SUFFIXES = frozenset(_SUFFIXES.split())
"""By these names a file is a model, whatever its bytes are."""
PACKED = (".gz", ".zst", ".bz2", ".xz", ".lzma", ".z")
NAMES = frozenset(("mlmodel", "model.tar.gz", "model.tgz"))
_NO_MODELS = """
.md .rst .py .pyi .r .rmd .qmd .sh .ps1 .bat .js .ts .css .html .htm .ipynb .toml .yml .yaml .lock .cfg .ini
.csv .tsv .parquet .pq .arrow .feather .xlsx .xlsm .xls .sas7bdat .xpt .dta .por .zsav .npy .npz .png .jpg
.jpeg .gif .svg .ico .webp .pdf .docx .pptx .woff .woff2 .ttf .otf .mp3 .mp4 .so .dll .dylib .pyd .pyc .exe
.whl .pem .pub .key .gitignore .gitattributes
"""
NO_MODELS = frozenset(_NO_MODELS.split())
"""By these names a file is source, text or a table, or what no format is written in."""
_NO_FOLDERS = """
.git .hg .svn .tox .nox .mypy_cache .ruff_cache .pytest_cache .hypothesis .treewarden-cache node_modules
__pycache__ site-packages
"""
NO_FOLDERS = frozenset(_NO_FOLDERS.split())
MODEL_KINDS = frozenset(
    (Foreign.PICKLE, Foreign.RDS, Foreign.RDATA, Foreign.JAVA, Foreign.CATBOOST)
)
OLD_XGBOOST = (b"binf", b"bs64\t")
SUSPECT = re.compile(
    rb"(?i)tree|learner|booster|P\0?M\0?M\0?L|features_info|model_fields|nodeid|split|kids|forest|Decision Stump|J48 |"
    rb"Id3|MART|Fitted party|\|---|digraph|MlrFunction|Node number|double p|PART decision|M5 pruned|\"ebm\""
)
"""One of these stands in every file that a format reads: a test holds it against all of them."""
MOST_BYTES = 64 * 2**20
MOST_FILES = 200_000
MLFLOW, SPARK = "MLmodel", "metadata"

Identity = tuple[int, int] | str


@dataclass(frozen=True, slots=True)
class CandidateFile:
    """A file, or a folder of one model, that may be a model: ``file`` is its path from the folder that was looked at.

    ``is_certain`` where its name or its first bytes say so; else its formats have to be asked.
    """

    path: Path
    file: str
    is_certain: bool


class TooManyFilesError(Exception):
    """A folder holds more files than are looked at."""


def identity(path: Path) -> Identity:
    """Return what is the same for two names of one file: of letters in another case, of links, of Unicode forms."""
    try:
        stat = path.stat()
    except OSError:
        return os.path.normcase(path)
    return (stat.st_dev, stat.st_ino) if stat.st_ino else os.path.normcase(os.path.realpath(path))


def model_files(
    root: Path, covered: Collection[Identity], is_ignored: Callable[[str], bool]
) -> Iterator[CandidateFile]:
    """Yield what may be a model in a folder, in the order of names; not what is covered, nor what is in it.

    Hidden folders are looked into, what tools keep or install is not, and no link to a folder is followed.

    Raises:
        TooManyFilesError: there are more files than are looked at.
    """
    number = 0
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        whole = sorted(name for name in folders if is_model_folder(here / name))
        folders[:] = sorted(
            name
            for name in folders
            if name not in whole
            and not _is_installed(here / name)
            and not is_ignored((here / name).relative_to(root).as_posix())
            and identity(here / name) not in covered
        )
        number += len(files)
        if number > MOST_FILES:
            raise TooManyFilesError
        for name in (*whole, *sorted(files)):
            path = here / name
            file = path.relative_to(root).as_posix()
            is_certain = name in whole or is_named_as_model(name)
            if not is_certain and PurePosixPath(name).suffix.lower() in NO_MODELS:
                continue
            if is_ignored(file) or identity(path) in covered:
                continue
            if is_certain or is_suspect(path):
                yield CandidateFile(path, file, is_certain or is_foreign_model(path))


def is_model_folder(folder: Path) -> bool:
    """Return whether a folder is one model as a whole: as MLflow or Spark save it."""
    if folder.is_symlink():
        return False
    if (folder / MLFLOW).is_file():
        return True
    metadata = folder / SPARK
    try:
        return metadata.is_dir() and any(
            each.name.startswith("part-") for each in metadata.iterdir()
        )
    except OSError:
        return False


def is_named_as_model(name: str) -> bool:
    """Return whether a file's name alone says that it is a model, packed or not; Windows does not tell cases apart."""
    small = name.lower()
    path = PurePosixPath(small)
    if path.suffix in PACKED:
        return small in NAMES or path.with_suffix("").suffix in SUFFIXES
    return small in NAMES or path.suffix in SUFFIXES


def is_suspect(path: Path) -> bool:
    """Return whether a file's bytes may be those of a model; False where it cannot be read, which no format can."""
    data = bytes_of(path)
    if _starts_as_foreign(data):
        return True
    return SUSPECT.search(data) is not None or SUSPECT.search(unpacked_start(data)) is not None


def is_foreign_model(path: Path) -> bool:
    """Return whether a file's first bytes are those of a model that only its own program opens."""
    return _starts_as_foreign(_read(path, PEEKED))


def bytes_of(path: Path) -> bytes:
    """Return the bytes of a plain file, or the start of a very large one; nothing where it cannot be read."""
    return _read(path, MOST_BYTES)


def matches_pattern(file: str, pattern_text: str) -> bool:
    """Return whether a path from the configuration is one that a pattern means: itself, or a folder that it is in."""
    parts = PurePosixPath(file).parts
    pattern = PurePosixPath(
        os.path.normpath(pattern_text.replace("\\", "/")).replace("\\", "/")
    ).parts
    return any(is_like(parts[:end], pattern) for end in range(1, len(parts) + 1))


def is_like(
    parts: Sequence[str],
    pattern: Sequence[str],
    as_named: Callable[[str], str] = os.path.normcase,
) -> bool:
    """Return whether a path is one that a pattern matches, both in their parts; "**" is any number of folders.

    ``as_named`` makes names equal that are one to the system: on Windows those in another case.
    """
    if not pattern:
        return not parts
    if pattern[0] == "**":
        rests = (parts[start:] for start in range(len(parts) + 1))
        return any(is_like(rest, pattern[1:], as_named) for rest in rests)
    return (
        bool(parts)
        and fnmatch.fnmatchcase(as_named(parts[0]), as_named(pattern[0]))
        and is_like(parts[1:], pattern[1:], as_named)
    )


def _is_installed(folder: Path) -> bool:
    return (
        folder.name in NO_FOLDERS
        or (folder / "pyvenv.cfg").exists()
        or (folder / "conda-meta").is_dir()
    )


def _starts_as_foreign(data: bytes) -> bool:
    return data.startswith(OLD_XGBOOST) or foreign(data) in MODEL_KINDS


def _read(path: Path, most: int) -> bytes:
    try:
        if not path.is_file():  # a pipe would wait for ever
            return b""
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        return b""
