"""Files that people have at hand and that are no models: what they are, and the lines that export what is in them.

A pickle runs code when it is opened, and R's and Java's own files are the like. So they are told by their first bytes
alone, unpacked as far as that needs and no further. Some hold tables that are read, where their library is there.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from enum import StrEnum

PEEKED = 1 << 18
"""So many bytes are looked at, before and after unpacking."""
ARROW_FILE = b"ARROW1"
"""How files of Arrow's own form start, which Feather is too since its second version: a table, but no model."""


class Foreign(StrEnum):
    """A kind of file, as messages name it."""

    PICKLE = "a Python pickle (joblib writes them too), and opening it could run code"
    RDS = "an R object (.rds), which only R opens"
    RDATA = "an R workspace (.RData), which only R opens"
    JAVA = "a serialised Java object (Weka's .model, say), and opening it could run code"
    HDF5 = "an HDF5 file"
    CATBOOST = "CatBoost's binary model"
    EXCEL = "an Excel workbook"
    OPEN_DOCUMENT = "an OpenDocument spreadsheet"
    PAGE = "an HTML page or XML, which some programs call .xls"
    SPSS = "an SPSS file"
    STATA = "a Stata file"
    SAS = "a SAS data set"
    ARROW = "an Arrow or Feather file"
    SQLITE = "an SQLite database"


STARTS = {
    Foreign.RDS: (b"X\n\0\0\0", b"A\n2\n", b"A\n3\n", b"B\n\2\0\0\0", b"B\n\3\0\0\0"),
    Foreign.RDATA: (b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n"),
    Foreign.PICKLE: tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
    + (b"ccopy_reg\n", b"csklearn.", b"cnumpy.", b"ccopyreg\n"),
    Foreign.JAVA: (b"\xac\xed\0\x05",),
    Foreign.HDF5: (b"\x89HDF\r\n\x1a\n",),
    Foreign.CATBOOST: (b"CBM1",),
    Foreign.EXCEL: (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),
    Foreign.SPSS: (b"$FL2", b"$FL3"),
    Foreign.STATA: (b"<stata_dta>",)
    + tuple(
        bytes([version, order, 1])
        for version in (*range(104, 106), 108, *range(110, 116))
        for order in (1, 2)
    ),
    Foreign.SAS: (b"\0" * 12 + b"\xc2\xea\x81\x60", b"HEADER RECORD*******LIB"),
    Foreign.ARROW: (ARROW_FILE, b"FEA1"),
    Foreign.SQLITE: (b"SQLite format 3\0",),
}

TABLES = frozenset({Foreign.EXCEL, Foreign.SPSS, Foreign.STATA, Foreign.SAS})
"""What is read as a table, though never as a model."""
PORTABLE, PORTABLE_WITHIN = b"SPSSPORT", 600
"""What stands near the start of SPSS's portable files."""
IN_WORKBOOKS = tuple(
    b"xl/" + part
    for part in (b"workbook", b"worksheets", b"styles.", b"sharedStrings", b"theme/", b"_rels/")
)
"""How files in an archive of Excel are called: long enough not to stand in packed bytes by chance."""
SPREADSHEET = b"application/vnd.oasis.opendocument.spreadsheet"
PAGES = (b"<html", b"<!doctype html", b"<table")


def foreign(data: bytes) -> Foreign | None:
    """Return what kind of file starts like this, packed or not; None where it is none of them."""
    return _kind(data) or _kind(unpacked_start(data))


def model_advice(data: bytes, source: str) -> str:
    """Return what a file is that was given as a model, and how to export the model in it; "" where it is not known."""
    kind = foreign(data)
    if kind is None:
        return ""
    if kind in TABLES or kind is Foreign.ARROW:
        return f"{kind}: a table, not a model; did you swap MODEL and --data? List the formats: treewarden list formats"
    lines = _model_lines(kind, data[:PEEKED] + unpacked_start(data), source)
    if not lines:
        return f"{kind}, which is not a model that treewarden can read; how to export a model: docs/formats.md"
    where = "Weka" if kind is Foreign.JAVA else "R" if "R " in kind else "Python"
    refusal = f"{kind}, so treewarden does not read it"
    return f"{refusal}; if you trust the file, export the model in {where}: {'; '.join(lines)}"


def table_advice(start: bytes, source: str) -> str:
    """Return what a file is that was given as a table, and how to export it; "" where it is not known, or is read."""
    if start.startswith(ARROW_FILE) or table_kind(start) is not None:
        return ""
    kind = foreign(start) or (Foreign.PAGE if _is_page(start) else None)
    if kind is None:
        return ""
    if kind in TABLES:
        return f"{kind}, packed; unpack it"
    return f"{kind}; {saving(kind, source)}"


def table_kind(start: bytes) -> Foreign | None:
    """Return what kind of table starts like this that another program keeps and that is read; None: none of them."""
    kind = _kind(start)
    return kind if kind in TABLES else None


def saving(kind: Foreign, source: str) -> str:
    """Return how a table is saved as what is read anywhere."""
    lines = _table_lines(kind, source)
    if not lines:
        return "save the table as CSV in UTF-8, or as Parquet"
    return f"save the table as CSV or Parquet: {'; '.join(lines)}"


def _kind(data: bytes) -> Foreign | None:
    for kind, starts in STARTS.items():
        if data.startswith(starts):
            return kind
    if data.startswith(b"PK\x03\x04"):
        if SPREADSHEET in data[:PORTABLE_WITHIN]:
            return Foreign.OPEN_DOCUMENT
        is_workbook = any(part in data[:PEEKED] for part in IN_WORKBOOKS)
        return Foreign.EXCEL if is_workbook else None
    return Foreign.SPSS if PORTABLE in data[:PORTABLE_WITHIN] else None


def _is_page(start: bytes) -> bool:
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:PORTABLE_WITHIN].lower()
    return text.startswith(PAGES) or (text.startswith(b"<?xml") and b"excel.sheet" in text)


def unpacked_start(data: bytes) -> bytes:
    """Return the start of what is packed in bytes; nothing where they are not packed."""
    packed = data[:PEEKED]
    openers: dict[bytes, Callable[[], bytes]] = {
        b"\x1f\x8b": lambda: zlib.decompressobj(31).decompress(packed, PEEKED),
        b"\x78": lambda: zlib.decompressobj().decompress(packed, PEEKED),
        b"BZh": lambda: bz2.BZ2Decompressor().decompress(packed, PEEKED),
        b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(memlimit=1 << 28).decompress(packed, PEEKED),
        b"\x5d\0\0": lambda: lzma.LZMADecompressor(memlimit=1 << 28).decompress(packed, PEEKED),
    }
    for start, opener in openers.items():
        if packed.startswith(start):
            try:
                return opener()
            except (zlib.error, OSError, EOFError, lzma.LZMAError):
                return b""
    return b""


def _model_lines(kind: Foreign, held: bytes, source: str) -> list[str]:
    stem = source.rpartition(".")[0] or source
    if kind is Foreign.PICKLE:
        return _python_lines(held, source, stem)
    if kind in (Foreign.RDS, Foreign.RDATA):
        read = (
            f"readRDS({_quoted(source)})"
            if kind is Foreign.RDS
            else f"get(load({_quoted(source)})[1])"
        )
        return [f"model <- {read}", _r_line(held, stem)]
    if kind is Foreign.JAVA:
        files = f"-l {_quoted(source)} -T TRAINING.arff > {_quoted(stem + '.txt')}"
        return [f"java -cp weka.jar weka.classifiers.trees.J48 {files}"]
    if kind is Foreign.CATBOOST:
        load = f"model = catboost.CatBoost().load_model({_quoted(source)})"
        return [load, f'model.save_model({_quoted(stem + ".json")}, format="json")']
    return []


def _python_lines(held: bytes, source: str, stem: str) -> list[str]:
    load = f"joblib.load({_quoted(source)})"
    if b"sklearn.pipeline" in held:
        load += "[-1]"  # whose last step is the model
    if b"lightgbm" in held:  # its pickles name xgboost too
        booster = (
            ".booster_" if b"lightgbm.sklearn" in held or b"lightgbm.basic" not in held else ""
        )
        return ["import joblib", f"{load}{booster}.save_model({_quoted(stem + '.txt')})"]
    if b"xgboost" in held:
        return ["import joblib", f"{load}.save_model({_quoted(stem + '.json')})"]
    if b"catboost" in held:
        return ["import joblib", f'{load}.save_model({_quoted(stem + ".json")}, format="json")']
    load = load.removesuffix("[-1]")
    return ["import joblib, skops.io", f"skops.io.dump({load}, {_quoted(stem + '.skops')})"]


def _r_line(held: bytes, stem: str) -> str:
    """Return the line that writes a model; what package it is of, its class says."""
    path = _quoted(stem + ".json")
    if b"randomForest" in held:
        tree = "randomForest::getTree(model, k, labelVar = TRUE)"
        trees = f"lapply(1:model$ntree, function(k) {tree})"
    elif b"ranger" in held:
        trees = "lapply(1:model$num.trees, function(k) ranger::treeInfo(model, k))"
    elif b"rpart" in held:
        return f"writeLines(capture.output(print(model, digits = 15)), {_quoted(stem + '.txt')})"
    else:
        return f"writeLines(capture.output(print(model)), {_quoted(stem + '.txt')})"
    return f'jsonlite::write_json({trees}, {path}, digits = NA, na = "null")'


def _table_lines(kind: Foreign, source: str) -> list[str]:
    stem = source.rpartition(".")[0] or source
    path, name = _quoted(stem + ".csv"), _quoted(source)
    to_csv = f"to_csv({path}, index=False)"
    r_line = f"write.csv(%s, {path}, row.names = FALSE)"
    return {
        Foreign.RDS: [r_line % f"readRDS({name})"],
        Foreign.RDATA: [r_line % f"get(load({name})[1])"],
        Foreign.PICKLE: ["import pandas", f"pandas.read_pickle({name}).{to_csv}"],
        Foreign.EXCEL: ["import pandas", f"pandas.read_excel({name}).{to_csv}"],
        Foreign.SPSS: ["import pandas", f"pandas.read_spss({name}).{to_csv}"],
        Foreign.STATA: ["import pandas", f"pandas.read_stata({name}).{to_csv}"],
        Foreign.SAS: ["import pandas", f"pandas.read_sas({name}).{to_csv}"],
        Foreign.ARROW: ["import pandas", f"pandas.read_feather({name}).{to_csv}"],
        Foreign.HDF5: ["import pandas", f"pandas.read_hdf({name}).{to_csv}"],
    }.get(kind, [])


def _quoted(name: str) -> str:
    """Return a file's name as R, Python and a shell read it."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
