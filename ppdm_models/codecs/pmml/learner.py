"""Finds in a PMML file how its tree was grown: our own extensions, or the settings scikit-learn's exporters embed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

from treewarden.ppdm_models.codecs.common.xml import Element
from treewarden.ppdm_models.codecs.pmml.values import number
from treewarden.ppdm_models.codecs.sklearn.arrays import UNMODELLED, stopping_of
from treewarden.ppdm_models.tree.tree import (
    SPLIT_SETTINGS,
    Criterion,
    Learner,
    Quality,
    Stopping,
    Tool,
)

PREFIX = "treewarden:"
ESTIMATOR = re.compile(
    r"\b(Decision|Extra)Tree(Classifier|Regressor)\(((?:[^()]|\([^()]*\)){0,4000})\)"
)
SETTINGS_LENGTH = 100_000
SETTING = re.compile(r"\b(\w+)\s*=\s*('[^']*'|[^,\s]+)")
OWN = {
    "criterion",
    "min-leaf-records",
    "all-features",
    "multiway",
    "tool",
    "max-bins",
    "sets",
    "unmodelled",
    "lists-columns",
}
SETTINGS = {
    "quality": re.compile("|".join(Quality)),
    "criterion": re.compile("|".join(Criterion)),
    "min-leaf-records": re.compile(r"\d{1,16}"),
    "all-features": re.compile("true|false"),
    "multiway": re.compile("true|false"),
    "tool": re.compile("|".join(Tool)),
    "max-bins": re.compile(r"\d{1,16}"),
    "sets": re.compile("true|false"),
    "unmodelled": re.compile(
        rf"(?:{'|'.join(SPLIT_SETTINGS)})(?: (?:{'|'.join(SPLIT_SETTINGS)}))*"
    ),
    "lists-columns": re.compile("true|false"),
}
"""What our own extensions of a tree model say, by their name without the prefix."""
CRITERIA = {"gini": Criterion.GINI, "entropy": Criterion.ENTROPY, "log_loss": Criterion.ENTROPY}


def extensions(model: Element) -> dict[str, str]:
    """Return our own extensions of a tree model, without their prefix."""
    found = {item.get("name") or "": item.get("value") or "" for item in model.all("Extension")}
    return {
        name.removeprefix(PREFIX): value for name, value in found.items() if name.startswith(PREFIX)
    }


def read_learner(root: Element, model: Element, records: Callable[[], float | None]) -> Learner:
    """Return what the file tells about the learner; ``records`` turns shares of all records into records.

    Raises:
        ValueError: one of our own extensions holds what it cannot hold.
    """
    own = extensions(model)
    if own.keys() & OWN:
        said = Learner(
            criterion=Criterion(own["criterion"]) if "criterion" in own else None,
            min_leaf_records=_at_least_one(own.get("min-leaf-records", "1")),
            all_features=_yes_or_no(own.get("all-features", "true")),
            multiway=_yes_or_no(own["multiway"]) if "multiway" in own else None,
            tool=Tool(own.get("tool", Tool.UNKNOWN)),
            max_bins=_at_least_one(own["max-bins"]) if "max-bins" in own else None,
            sets=_yes_or_no(own["sets"]) if "sets" in own else None,
            unmodelled=tuple(own.get("unmodelled", "").split()),
        )
        if "lists-columns" in own:
            return replace(said, lists_columns=_yes_or_no(own["lists-columns"]))
        return replace(said, lists_columns=said.usually_lists_columns)
    task = root.first("MiningBuildTask")
    pieces = [] if task is None else [_text(item) for item in task.all("Extension")]
    found = next(
        (
            match
            for piece in pieces
            for match in [ESTIMATOR.search(piece[:SETTINGS_LENGTH])]
            if match
        ),
        None,
    )
    return Learner(tool=_tool(model)) if found is None else _from_settings(found, records)


def _tool(model: Element) -> Tool:
    """Return the program that a model is named after (PMML 4.4, algorithmName)."""
    name = model.get("algorithmName") or ""
    if name == "rpart":
        return Tool.RPART
    return Tool.SCIKIT_LEARN if name.startswith("sklearn.tree.") else Tool.UNKNOWN


def _from_settings(found: re.Match[str], records: Callable[[], float | None]) -> Learner:
    settings = {name: value.strip("'") for name, value in SETTING.findall(found[3])}
    default = "gini" if found[2] == "Classifier" else "squared_error"
    splitter = settings.get("splitter", "best" if found[1] == "Decision" else "random")
    looked_at = settings.get("max_features", "None" if found[1] == "Decision" else "sqrt")
    smallest = _records(
        settings.get("min_samples_leaf", "1"),
        records,
        whole="." not in settings.get("min_samples_leaf", "1"),
    )
    share = _records(settings.get("min_weight_fraction_leaf", "0"), records, whole=False)
    return Learner(
        criterion=CRITERIA.get(settings.get("criterion", default)),
        min_leaf_records=max(1, smallest, share),
        all_features=splitter == "best" and looked_at == "None",
        multiway=False,
        tool=Tool.SCIKIT_LEARN,
        unmodelled=tuple(name for name in UNMODELLED if settings.get(name, "None") != "None"),
        stopping=_stopping_of(settings, records),
    )


def _stopping_of(settings: dict[str, str], records: Callable[[], float | None]) -> Stopping | None:
    """Return when a tree stopped whose estimator was printed; settings that are not printed have their defaults."""
    wholes = {"max_depth": "None", "min_samples_split": "2", "max_leaf_nodes": "None"}
    plain: dict[str, object] = {}
    for name, default in (*wholes.items(), ("min_impurity_decrease", "0"), ("ccp_alpha", "0")):
        text = settings.get(name, default)
        value = number(text)
        if value is None and text != "None":
            return None
        is_whole = value is not None and name in wholes and "." not in text and abs(value) < 1e15
        plain[name] = int(value or 0) if is_whole else value
    return stopping_of(plain, records() or 0.0)


def _records(text: str, records: Callable[[], float | None], whole: bool) -> int:
    value = number(text)
    if value is None or value < 0 or value > 1e15:
        return 1
    return int(value) if whole else math.ceil(value * (records() or 0.0))


def _text(item: Element) -> str:
    return item.get("value") or item.text


def _at_least_one(text: str) -> int:
    value = number(text)
    if value is None or value < 1 or value != int(value) or value > 1e15:
        raise ValueError(f"{text!r} is no whole number of records")
    return int(value)


def _yes_or_no(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"
