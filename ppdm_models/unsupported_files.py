"""Files that people hand in for a model or a table and that are none: what they are, and the lines to export from.

A pickle runs code when it is opened, and R's and Java's own files are the like. So they are told by their first bytes
alone, unpacked as far as that needs and no further. Some hold tables that are read, where their library is there.
"""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from pathlib import PurePosixPath

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
PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
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
        return f"{kind}: a table, not a model; give the file of the model. List the formats: treewarden list formats"
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
    if start.startswith(PICTURES):
        return "a picture, not a table; give CSV in UTF-8, Parquet or Excel"
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


def _model_lines(kind: Foreign, content: bytes, source: str) -> list[str]:
    stem = source.rpartition(".")[0] or source
    if kind is Foreign.PICKLE:
        return _python_lines(content, source, stem)
    if kind in (Foreign.RDS, Foreign.RDATA):
        read = (
            f"readRDS({_quoted(source)})"
            if kind is Foreign.RDS
            else f"get(load({_quoted(source)})[1])"
        )
        return [f"model <- {read}", _r_line(content, stem)]
    if kind is Foreign.JAVA:
        files = f"-l {_quoted(source)} -T TRAINING.arff > {_quoted(stem + '.txt')}"
        return [f"java -cp weka.jar weka.classifiers.trees.J48 {files}"]
    if kind is Foreign.CATBOOST:
        load = f"model = catboost.CatBoost().load_model({_quoted(source)})"
        return [load, f'model.save_model({_quoted(stem + ".json")}, format="json")']
    return []


def _python_lines(content: bytes, source: str, stem: str) -> list[str]:
    load = f"joblib.load({_quoted(source)})"
    if b"sklearn.pipeline" in content:
        load += "[-1]"  # whose last step is the model
    if b"lightgbm" in content:  # its pickles name xgboost too
        booster = (
            ".booster_"
            if b"lightgbm.sklearn" in content or b"lightgbm.basic" not in content
            else ""
        )
        return ["import joblib", f"{load}{booster}.save_model({_quoted(stem + '.txt')})"]
    if b"xgboost" in content:
        return ["import joblib", f"{load}.save_model({_quoted(stem + '.json')})"]
    if b"catboost" in content:
        return ["import joblib", f'{load}.save_model({_quoted(stem + ".json")}, format="json")']
    load = load.removesuffix("[-1]")
    return ["import joblib, skops.io", f"skops.io.dump({load}, {_quoted(stem + '.skops')})"]


def _r_line(content: bytes, stem: str) -> str:
    """Return the line that writes a model; what package it is of, its class says."""
    path = _quoted(stem + ".json")
    if b"randomForest" in content:
        tree = "randomForest::getTree(model, k, labelVar = TRUE)"
        trees = f"lapply(1:model$ntree, function(k) {tree})"
    elif b"ranger" in content:
        trees = "lapply(1:model$num.trees, function(k) ranger::treeInfo(model, k))"
    elif b"rpart" in content:
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


# Files that people hand in for a model and that hold none that is read: what each is, and what to export in its place.
#
# Nothing is run, and no more is unpacked than the small files that say what a folder or an archive is. Each advice
# names a file that a format reads; the recipes in docs/recipes have the same lines.

TEXT_PEEKED = 1 << 16
"""So many bytes of a text are looked at."""
Reading = Callable[[str], bytes]
"""Returns the start of one file of a folder or an archive, by its name."""

RPART_LINE = 'writeLines(capture.output(print(model, digits = 15)), "model.txt")'
PARTY_LINE = 'writeLines(capture.output(print(partykit::as.party(model))), "model.txt")'
SKOPS_LINE = 'skops.io.dump(model, "model.skops")'
FOREST_LINES = {
    "ranger": "trees <- lapply(1:model$num.trees, function(k) ranger::treeInfo(model, k))",
    "randomforest": (
        "trees <- lapply(1:model$ntree, function(k) randomForest::getTree(model, k, labelVar = TRUE))"
    ),
}
WRITE_TREES = 'jsonlite::write_json(trees, "model.json", digits = NA, na = "null")'
R_LINES = {
    **{name: f"{line}; {WRITE_TREES}" for name, line in FOREST_LINES.items()},
    "xgboost": 'xgboost::xgb.save(model, "model.json")',
    "xgb.booster": 'xgboost::xgb.save(model, "model.json")',
    "lightgbm": 'lightgbm::lgb.save(model, "model.txt")',
    "lgb.booster": 'lightgbm::lgb.save(model, "model.txt")',
    "rpart": RPART_LINE,
    "party": PARTY_LINE,
    "ctree": PARTY_LINE,
}
"""By what tidypredict calls a model in R, the line that writes it."""
H2O_TREES = frozenset({"gbm", "drf"})
H2O_NAMES = {
    "xgboost": "XGBoost",
    "glm": "GLM",
    "gam": "GAM",
    "deeplearning": "Deep Learning",
    "kmeans": "K-Means",
    "word2vec": "Word2Vec",
    "isolationforest": "Isolation Forest",
    "isofor": "Isolation Forest",
    "extendedisolationforest": "Extended Isolation Forest",
    "stackedensemble": "Stacked Ensemble",
    "targetencoder": "Target Encoder",
    "pca": "PCA",
    "glrm": "GLRM",
    "coxph": "CoxPH",
    "rulefit": "RuleFit",
    "upliftdrf": "Uplift DRF",
}
H2O_PLAIN = frozenset(
    {"glm", "gam", "deeplearning", "kmeans", "word2vec", "pca", "glrm", "coxph", "targetencoder"}
)
"""Those that have no trees."""
H2O_SAVE = 'train H2OGradientBoostingEstimator or H2ORandomForestEstimator and write model.download_mojo("model.zip")'
XGBOOST_OF_H2O = (
    "params, rounds = model.convert_H2OXGBoostParams_2_XGBoostParams(); xgboost.train(params, "
    'frame.convert_H2OFrame_2_DMatrix(x, y, model), rounds).save_model("model.json")'
)
NO_TREES = "it has no decision tree, and treewarden audits nothing else"
YDF = (
    "models of Yggdrasil or TensorFlow Decision Forests cannot be read; train the trees with scikit-learn and "
    f"save them: {SKOPS_LINE}, or with XGBoost: "
    'model.save_model("model.json")'
)
OF_TREE = (
    "a print of R's package tree, which is not supported; train the tree with rpart: "
    "model <- rpart::rpart(formula(model$terms), data = TABLE), and write it: "
    f"{RPART_LINE}"
)
KERAS = f"a neural network of Keras or TensorFlow: {NO_TREES}"
ALGORITHM = re.compile(rb"(?m)^algo *= *(\w{1,60})\s*$")
TIDYPREDICT = re.compile(r"\Ageneral:\s*\n(?:  [^\n]*\n)*?  model: ?['\"]?([\w.]+)")
SAS = re.compile(r"(?i)\b_node_\s*=|\blength\s+_warn_|\bif\b[^;]{1,300}\bthen\s+do\s*;")
SPSS = re.compile(r"(?im)^\s*(?:/\*\s*node\s+\d+|do if\b.*\.\s*$|compute\s+(?:nod|pre|prb)_\d+)")
CODE = re.compile(
    r"(?m)^\s*(?:def score\(|(?:public )?(?:static )?double(?:\[\])? score\(|void score\(|"
    r"public static class \w+ extends GenModel|class \w+ extends GenModel|score <- function\()"
)


def text_advice(data: bytes) -> str:
    """Return what a text, or a file of one piece, is and what to do; "" where that is not known."""
    start = data[:TEXT_PEEKED].removeprefix(b"\xef\xbb\xbf")
    for signs, advice in BINARIES.items():
        if start.startswith(signs):
            return advice
    if b"gbtree" in start and b"\0" in start:
        line = 'xgboost.Booster(model_file="MODEL").save_model("model.json")'
        return f"XGBoost's old binary form; export it in Python: {line}"
    if b"\0" in start:
        return ""
    return _of_text(start.decode("utf-8", "replace"))


def members_advice(names: Collection[str], read: Reading) -> str:
    """Return what a folder or an archive of files is and what to do; "" where that is not known."""
    ends = {PurePosixPath(name).name for name in names}
    if "model.ini" in names:
        return _of_mojo(read("model.ini"))
    if ends >= {"data_spec.pb", "header.pb"} or any(end.endswith("data_spec.pb") for end in ends):
        return YDF
    if "saved_model.pb" in ends or ends >= {"config.json", "model.weights.h5"}:
        return KERAS
    if "MLmodel" in ends:
        return _of_mlflow(names, read)
    if "data.pkl" in ends:
        return f"a model of PyTorch, which runs code when it is opened: {NO_TREES}"
    if "model.mlmodel" in ends:
        return COREML
    if "bundle.json" in ends:
        return 'an MLeap bundle; write the model in Spark: model.write().overwrite().save("model")'
    if "word/document.xml" in names:
        return "a Word document; give the file of the model"
    if "META-INF/MANIFEST.MF" in names:
        return f"a Java archive, which runs code; give the model in it as its program prints it. {H2O_WEKA}"
    return ""


COREML = f"a Core ML model; give the model that it was made of, scikit-learn's: {SKOPS_LINE}"
H2O_WEKA = 'H2O: model.download_mojo("model.zip"); Weka: java -cp weka.jar weka.classifiers.trees.J48 -t TABLE'
BINARIES: Mapping[bytes | tuple[bytes, ...], str] = {
    b"%PDF-": "a PDF document; give the file of the model",
    PICTURES: "a picture; give the file of the model",
    b"\x93NUMPY": f"an array of NumPy; export the model in Python: {SKOPS_LINE}",
    b"PAR1": "a table in Parquet; give it with --data, and the model in its place",
    b"7z\xbc\xaf": "a 7z archive; unpack it, and give the file of the model",
    b"\x28\xb5\x2f\xfd": "packed with Zstandard; unpack it, and give the file of the model",
    b"Rar!": "a RAR archive; unpack it, and give the file of the model",
    (b"binf", b"bs64\t"): (
        "XGBoost's old binary form; export it in Python: "
        'xgboost.Booster(model_file="MODEL").save_model("model.json")'
    ),
}
"""What files start with that are no texts and no archives of files, and what to do."""


def _of_text(text: str) -> str:
    if "C5.0 [Release" in text or "See5 [Release" in text:
        return f"C5.0's printed output, which treewarden cannot read; in R, with the package C50, run: {PARTY_LINE}"
    if re.match(r'id="(?:See5/)?C5\.0', text):
        return (
            "a tree file of C5.0, which is not supported; train it in R: model <- "
            f"C50::C5.0(x, y), and write it: {PARTY_LINE}"
        )
    tidy = TIDYPREDICT.match(text)
    if tidy is not None:
        return _of_tidypredict(tidy[1])
    if text[:400].startswith("rule,type,coef,support"):
        return f"the rules of RuleFit, a linear model over rules: {NO_TREES}"
    if '"nbformat"' in text and '"cells"' in text:
        return f"a notebook; export the model in it to a file, and give that: {SKOPS_LINE}"
    if re.match(r"\s*<(?:!doctype html|html)\b", text, re.IGNORECASE):
        return "an HTML page; give the file of the model"
    if CODE.search(text):
        return f"source code that computes predictions; give the model that it was made of: {SKOPS_LINE}"
    if SPSS.search(text):
        return "SPSS syntax; write the tree as PMML: TREE ... /OUTFILE TRAININGMODEL='model.xml', and give that"
    if SAS.search(text):
        return (
            "SAS score code; write the tree as PMML: code pmml; in PROC HPSPLIT or PROC TREESPLIT"
        )
    if _is_table(text):
        return "a table, not a model; give the file of the model. List the formats: treewarden list formats"
    return ""


def _of_tidypredict(kind: str) -> str:
    line = R_LINES.get(kind.lower())
    what = f"tidypredict's output for an R model ({kind[:40]}), which treewarden cannot read"
    if line is None:
        return f"{what}; export the model itself: docs/recipes/r.md has the lines"
    return f"{what}; in R, export the model itself: {line}"


def _of_mojo(ini: bytes) -> str:
    found = ALGORITHM.search(ini[:TEXT_PEEKED])
    key = "" if found is None else found[1].decode("ascii", "replace").lower()
    if not key or key in H2O_TREES:
        return ""
    what = f"an H2O MOJO of {H2O_NAMES.get(key, key)}, and only those of GBM and DRF are read"
    if key == "xgboost":
        return f"{what}; train the trees with XGBoost itself: {XGBOOST_OF_H2O}"
    if "isolation" in key or key == "isofor":
        return f"{what}: its trees predict no column of a table, so that no audit asks about them"
    return f"{what}: {NO_TREES}" if key in H2O_PLAIN else f"{what}; {H2O_SAVE}"


def _of_mlflow(names: Collection[str], read: Reading) -> str:
    """Return that a folder is MLflow's, and which file of it holds the model, as it says itself."""
    place = next(name for name in sorted(names) if PurePosixPath(name).name == "MLmodel")
    said = read(place)[:TEXT_PEEKED].decode("utf-8", "replace")
    files = re.findall(
        r"(?m)^ +(?:pickled_model|data|model_data|model_path): *['\"]?([\w./-]+)", said
    )
    inside = str(PurePosixPath(place).parent / files[-1]) if files else ""
    what = "a model that MLflow keeps"
    if inside in names and not inside.endswith((".pkl", ".pickle")):
        return f"{what}; give the file {inside!r} of it"
    load = "model = mlflow.sklearn.load_model(FOLDER)"
    pickled = "with a pickle, which runs code when it is opened"
    return f"{what}, {pickled}; export it in Python, where you trust it: {load}; {SKOPS_LINE}"


def _is_table(text: str) -> bool:
    """Return whether the first lines are cells, as many in each, and few of them."""
    lines = [line for line in text.splitlines()[:6] if line.strip()]
    if len(lines) < 3 or text.lstrip().startswith(("{", "[", "<")):
        return False
    return any(
        len({line.count(sign) for line in lines}) == 1 and sign in lines[0] for sign in ",;\t"
    )
