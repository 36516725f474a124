"""Files that people hand in for a model and that hold none that is read: what each is, and what to export in its place.

Nothing is run, and no more is unpacked than the small files that say what a folder or an archive is. Each advice names
a file that a format reads; the recipes in docs/recipes have the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath

PEEKED = 1 << 16
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
    "a model of Yggdrasil or TensorFlow Decision Forests, which write their trees in a form of their own and export no "
    f"other that is read; train the trees with scikit-learn and save them: {SKOPS_LINE}, or with XGBoost: "
    'model.save_model("model.json")'
)
OF_TREE = (
    "what R's package tree prints, which is not read; grow the tree with rpart: model <- "
    f"rpart::rpart(formula(model$terms), data = TABLE), and write it: {RPART_LINE}"
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
    start = data[:PEEKED].removeprefix(b"\xef\xbb\xbf")
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
    (b"\x89PNG", b"\xff\xd8\xff", b"GIF8"): "a picture; give the file of the model",
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
        return f"what C5.0 prints, which is not read; write the tree in R, of the package C50: {PARTY_LINE}"
    if re.match(r'id="(?:See5/)?C5\.0', text):
        return (
            "a tree file of C5.0, which is not read; grow it in R: model <- C50::C5.0(x, y), and write it: "
            f"{PARTY_LINE}"
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
        return "a table, not a model; did you swap MODEL and --data? List the formats: treewarden list formats"
    return ""


def _of_tidypredict(kind: str) -> str:
    line = R_LINES.get(kind.lower())
    what = f"what tidypredict parsed of an R model ({kind[:40]})"
    if line is None:
        return (
            f"{what}, which is not read; export the model itself, docs/recipes/r.md has the lines"
        )
    return f"{what}, which is not read; export the model itself in R: {line}"


def _of_mojo(ini: bytes) -> str:
    found = ALGORITHM.search(ini[:PEEKED])
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
    said = read(place)[:PEEKED].decode("utf-8", "replace")
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
