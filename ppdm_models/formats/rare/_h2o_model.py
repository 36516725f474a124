"""What H2O's trees make together: which class each adds to, how their sum is read, where it starts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.node_order import unique
from treewarden.ppdm_models.formats.rare._h2o_nodes import H2oColumn
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Link,
    Member,
    TreeSampling,
)
from treewarden.ppdm_models.tree.tree import Feature, Missing, Node, Task, Tree

LINKS = {"identity": Link.IDENTITY, "logit": Link.LOGISTIC, "log": Link.EXP, "tweedie": Link.EXP}


def bare_tree(nodes: tuple[Node, ...], features: tuple[Feature, ...], source: str) -> Tree:
    """Return a tree without counts understood, whose missing values have a side."""
    return Tree(
        nodes=nodes,
        features=features,
        target="",
        task=Task.REGRESSION,
        missing=Missing.DEFAULT_CHILD,
        source=source,
        format="h2o_json",
    )


def ensemble_of(
    document: JsonPart, params: JsonPart, trees: Sequence[Tree], features: tuple[Feature, ...]
) -> Ensemble:
    """Return the ensemble; ``document`` has the names of the trees, ``params`` what PrintMojo says of the model.

    Raises:
        TreeFormatError: a tree is for an unknown class, or something is not said.
    """
    labels = params.get("class_labels")
    classes = (
        unique((item.label() for item in labels), "classes", document.source, limits.CLASSES)
        if labels is not None and params["classifier"].flag()
        else ()
    )
    outputs = [_output(part["name"].text(), classes, part) for part in document["trees"]]
    groups, size = params["n_tree_groups"].whole(), params["n_trees_in_group"].whole()
    forest = params["algo"].text() == "drf"
    one_sided = len(classes) == 2 and size == 1
    if forest and one_sided:  # one score is the share of the first class
        trees = [replace(tree, nodes=tuple(map(_two_sided, tree.nodes))) for tree in trees]
    turns = Counter(None if one_sided else output for output in outputs)
    notes, link = [], _link(params, forest, classes)
    if groups * size != len(trees):
        notes.append(
            f"{document.source}: the file contains {len(trees)} of the model's "
            f"{groups * size} trees, but the model predicts with all of them"
        )
        link = Link.UNKNOWN
    start = params.get("base_score")
    base = (0.0 if start is None or forest else start.number(),)
    return Ensemble(
        members=tuple(
            Member(
                tree,
                weight=1 / turns[None if one_sided else output] if forest else 1.0,
                output=None if one_sided else output,
                name=part["name"].text(),
            )
            for tree, output, part in zip(trees, outputs, document["trees"], strict=True)
        ),
        combination=Combination.WEIGHTED_SUM,
        features=features,
        target="",
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        base=base if any(base) else (),
        link=link,
        sampling=TreeSampling(True if forest else None),
        source=document.source,
        format="h2o_json",
        notes=tuple(notes),
    )


def _output(name: str, classes: tuple[str, ...], part: JsonPart) -> int | None:
    """Return the class whose score a tree adds to: ``Tree 0, Class setosa``."""
    _, found, label = name.partition(", Class ")
    if not found or not classes:
        return None
    if label not in classes:
        raise part.refused(f"{label[:80]!r} is not a class of the model")
    return classes.index(label)


def _link(params: JsonPart, forest: bool, classes: tuple[str, ...]) -> Link:
    if forest:
        return Link.IDENTITY
    if params["algo"].text() != "gbm":
        return Link.UNKNOWN
    if len(classes) > 2:
        return Link.SOFTMAX
    json_part = params.get("link_function")
    return Link.UNKNOWN if json_part is None else LINKS.get(json_part.text(), Link.UNKNOWN)


def _two_sided(node: Node) -> Node:
    if not isinstance(node.score, float):
        return node
    return replace(node, outputs=(node.score, 1 - node.score), score=None)


# The ``model.ini`` of an H2O MOJO: settings, the names of the columns, and which files hold their categories.

NAME = "model.ini"
DOMAIN = re.compile(r"(\d{1,6}): (\d{1,9}) (\S{1,100})")
OLDEST = 1.2
"""The first version whose trees are packed as here."""


@dataclass(frozen=True, slots=True)
class Ini:
    """The settings by name, and the columns in their order, the response last."""

    source: str
    settings: Mapping[str, str]
    columns: tuple[H2oColumn, ...]

    def refused(self, problem: str) -> TreeFormatError:
        """Return the error that the file is wrong."""
        return TreeFormatError(f"{self.source}: {NAME}", problem)

    @property
    def response(self) -> H2oColumn | None:
        """The column that is predicted; None of a model that was not told any."""
        return self.columns[-1] if self.text("supervised") == "true" else None

    @property
    def predictors(self) -> int:
        """How many columns come before the response."""
        return len(self.columns) - (self.response is not None)

    def text(self, key: str) -> str:
        """Return a setting that must be there."""
        found = self.settings.get(key)
        if found is None:
            raise self.refused(f"{key!r} is missing")
        return found

    def whole(self, key: str) -> int:
        """Return a setting that is a whole number."""
        text = self.text(key)
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise self.refused(f"{key} is {text[:40]!r}, which is not a whole number")
        return int(text)

    def number(self, key: str, default: float) -> float:
        """Return a setting that is a finite number."""
        text = self.settings.get(key)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.refused(f"{key} is {(text or '')[:40]!r}, which is not a finite number")
        return value


def read_ini(files: Mapping[str, bytes], source: str) -> Ini:
    """Return the settings and the columns.

    Raises:
        TreeFormatError: a file is missing or malformed, or the MOJO is older than what is read here.
    """
    settings, names, domains = _sections(_lines(files, NAME, source), source)
    where = f"{source}: {NAME}"
    names = list(unique(names, "columns", where, limits.FEATURES))
    labels: dict[int, tuple[str, ...]] = {}
    escaped = settings.get("escape_domain_values") == "true"
    for place, size, name in domains:
        if place >= len(names) or place in labels:
            raise TreeFormatError(
                where,
                f"categories of column {place}, which does not exist or has categories already",
            )
        found = [
            _unescaped(line) if escaped else line
            for line in _lines(files, f"domains/{name}", source)
        ]
        if len(found) != size:
            raise TreeFormatError(where, f"domains/{name} has {len(found):,} lines, not {size:,}")
        labels[place] = unique(found, "categories", f"{source}: domains/{name}", 10**6)
    columns = tuple(H2oColumn(name, labels.get(place, ())) for place, name in enumerate(names))
    ini = Ini(source, settings, columns)
    if not columns or ini.whole("n_columns") != len(columns) or not ini.predictors:
        raise ini.refused(f"there are {len(columns)} columns, but the file states another number")
    if ini.number("mojo_version", 0.0) < OLDEST:
        raise ini.refused(
            f"MOJO version {ini.text('mojo_version')} is not supported; save it with a newer H2O"
        )
    return ini


def _lines(files: Mapping[str, bytes], name: str, source: str) -> list[str]:
    if name not in files:
        raise TreeFormatError(source, f"{name} is not in the archive")
    try:
        lines = files[name].decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise TreeFormatError(f"{source}: {name}", "this is not UTF-8 text") from error
    lines = [line.removesuffix("\r") for line in lines]
    return lines[:-1] if lines and not lines[-1] else lines


def _sections(
    lines: list[str], source: str
) -> tuple[dict[str, str], list[str], list[tuple[int, int, str]]]:
    settings: dict[str, str] = {}
    columns: list[str] = []
    domains: list[tuple[int, int, str]] = []
    section = ""
    for number, line in enumerate(lines, 1):
        where = f"{source}: {NAME}:{number}"
        if line in ("[info]", "[columns]", "[domains]"):
            section = line
        elif section == "[columns]" and line:
            columns.append(line)
        elif section == "[domains]" and line:
            found = DOMAIN.fullmatch(line)
            if found is None:
                raise TreeFormatError(where, f"{line[:80]!r} names no file of categories")
            domains.append((int(found[1]), int(found[2]), found[3]))
        elif section == "[info]" and line:
            key, equals, value = line.partition(" = ")
            if not equals:
                raise TreeFormatError(where, f"{line[:80]!r} is not of the form NAME = VALUE")
            if key in settings:
                raise TreeFormatError(where, f"the setting {key[:80]!r} occurs twice")
            settings[key] = value
        elif line:
            raise TreeFormatError(where, f"{line[:80]!r} is outside all sections")
    return settings, columns, domains


def _unescaped(line: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "r": "\r"}.get(match[1], match[1]), line)
