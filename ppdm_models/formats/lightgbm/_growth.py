"""How a LightGBM file says its leaves were made, and whether its inner nodes follow from the leaves or hold more.

It reads the numbers of all nodes, each tree's rate, and the settings.

A node has the value -G / (H + lambda), shrunk and moved by the start, and G and H add up over children (Ke et al.
2017); children of a split on several categories are made under lambda + cat_l2. The library prints six digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.formats.common.boosted import BoostedColumns
from treewarden.ppdm_models.formats.lightgbm._arrays import CATEGORICAL, LightgbmNodes
from treewarden.ppdm_models.formats.lightgbm._lines import LightgbmLines, TreeLines, finite_numbers
from treewarden.ppdm_models.formats.lightgbm._model import LightgbmHeader
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, Fact, GrownTree, stated_fact
from treewarden.ppdm_models.tree.nodes import Numbers

Settings = Callable[[str], str | None]
"""Returns a training parameter as the file writes it; None where it does not say."""

NUMBERS = (
    "learning_rate",
    "lambda_l2",
    "lambda_l1",
    "max_delta_step",
    "cat_l2",
    "boost_from_average",
    "enable_bundle",
    "max_bin",
    "min_data_in_bin",
)
"""The settings that decide the numbers of leaves and can be inverted, and what bundles of features training saw."""
FRACTIONS = ("bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction")
SAMPLING = (*FRACTIONS, "bagging_freq", "bagging_seed")
"""Those that say which records each round saw, where it did not see all."""

CONSTRAINTS, WEIGHT, UNBALANCE = "monotone_constraints", "scale_pos_weight", "is_unbalance"
WRITTEN = 6
"""How many digits of a setting the library writes."""
LINEAR = "its leaves hold linear models"
UNEQUAL = (
    "its trees were shrunk by different rates: trees were dropped during training (dart), or "
    "the learning rate changed, "
    "which is not inverted"
)
SEVERAL = "it has more rounds than num_iterations: training continued from a model whose settings are not in the file"
OTHERWISE: Mapping[str, tuple[tuple[str, ...], str]] = {
    "boosting": (("gbdt", "gbrt"), "its boosting type is not gbdt"),
    "data_sample_strategy": (("bagging",), "each round used a sample of the records (goss)"),
    "linear_tree": (("0",), LINEAR),
    "path_smooth": (("0",), "its leaf values were smoothed along their paths (path_smooth)"),
    "use_quantized_grad": (("0",), "its gradients were rounded coarsely (use_quantized_grad)"),
    "is_unbalance": (("0",), "one class weighed more than the other (is_unbalance)"),
    "scale_pos_weight": (("1",), "one class weighed more than the other (scale_pos_weight)"),
    "num_machines": (("1",), "it was trained on several machines, and each one rounds its sums"),
    "device_type": (("cpu",), "it was trained on a GPU, which keeps its sums in 32 bits"),
}
"""What each setting says where leaf values are Newton steps over all records, and why they are not where it differs."""


def growth_of(
    header: LightgbmHeader,
    forest: BoostedColumns,
    weights: Numbers,
    rates: Sequence[float | None],
    linear: Sequence[bool],
    setting: Settings,
    gains: Numbers,
    *,
    importances: bool = False,
) -> EnsembleGrowth:
    """Return what tells how the leaves were made.

    ``weights`` are the sums of second derivatives by node, ``gains`` what splits gain, and ``rates`` what each tree was
    shrunk by. ``importances`` says that gains are added up elsewhere in the file.
    """
    inner = forest.shape.inner
    values, inside = (np.where(there, forest.scores, np.nan) for there in (~inner, inner))
    weights = np.where(weights > 0, weights, np.nan)  # withheld ones stand as 0
    trees = []
    for index, (start, end) in enumerate(pairwise(forest.shape.starts.tolist())):
        trees.append(
            GrownTree(
                values[start:end],
                index % header.outputs,
                hessians=_published(weights[start:end]),
                counts=_published(forest.records[start:end]),
                weights=_published(inside[start:end]),
                gains=_published(gains[start:end]),
                rate=rates[index],
            )
        )
    name, *options = (header.objective or "").split() or [""]
    names = (*NUMBERS, *SAMPLING) if _is_bagged(setting) else NUMBERS
    is_only_weighed = _is_only_weighed(header, trees, linear, setting)
    names = (*names, WEIGHT, UNBALANCE) if is_only_weighed else names
    facts = {
        key: stated_fact(value) for key in names if (value := _number(setting(key))) is not None
    }
    return EnsembleGrowth(
        "lightgbm",
        name,
        header.outputs,
        tuple(
            tuple(range(start, start + header.outputs))
            for start in range(0, len(trees), header.outputs)
        ),
        tuple(trees),
        (0.0,) * header.outputs,
        facts={**_of_objective(options), **facts},
        refused=_refused(header, trees, linear, setting),
        importances=importances,
        unstated=_unstated(setting),
        is_only_weighed=is_only_weighed,
    )


def weights_in(
    document: LightgbmLines, blocks: Sequence[TreeLines], forest: BoostedColumns
) -> Numbers:
    """Return the sums of second derivatives by node in the order of the forest; NaN where a text file has none."""
    found = []
    for block, (start, end) in zip(blocks, pairwise(forest.shape.starts.tolist()), strict=True):
        leaves = (end - start + 1) // 2
        column = np.full(end - start, np.nan)
        if document.value_of("leaf_weight", block.keys):
            column[leaves - 1 :] = finite_numbers(document, "leaf_weight", block, leaves)
        found.append(column)
    return np.concatenate(found)[forest.shape.rows]


def gains_in(
    document: LightgbmLines, blocks: Sequence[TreeLines], forest: BoostedColumns
) -> Numbers:
    """Return what splits gain by node in the order of the forest; NaN at leaves, and where a text file has none."""
    found = []
    for block, (start, end) in zip(blocks, pairwise(forest.shape.starts.tolist()), strict=True):
        leaves = (end - start + 1) // 2
        column = np.full(end - start, np.nan)
        if document.value_of("split_gain", block.keys):
            said = finite_numbers(document, "split_gain", block, leaves - 1, may_be=math.inf)
            column[: leaves - 1] = said
        found.append(column)
    return np.concatenate(found)[forest.shape.rows]


def are_gains(document: LightgbmLines, tree_nodes: Sequence[LightgbmNodes]) -> bool:
    """Return whether the importances of features are anything else than how often the trees split on them."""
    names = (document.value_of("feature_names") or "").split()
    asked = np.concatenate([lightgbm_nodes.features for lightgbm_nodes in tree_nodes]).astype(
        np.int64
    )
    often = {name: int((asked == index).sum()) for index, name in enumerate(names)}
    for line in (document.lines[at].rstrip("\r") for at in document.importances):
        name, _, count = line.rpartition("=")
        if count != str(often.get(name)):
            return True
    return False


def rate_in(value: object) -> float | None:
    """Return what a tree was shrunk by, as its ``shrinkage`` says; None where it says nothing of use."""
    return _number(str(value)) if isinstance(value, str | int | float) else None


def _published(column: Numbers) -> Numbers | None:
    return None if np.isnan(column).all() else column


def _of_objective(options: Sequence[str]) -> dict[str, Fact]:
    """Return what the objective says beside its name: what scores are multiplied by, that roots are predicted."""
    pairs = [option.partition(":") for option in options]
    facts = {
        key: stated_fact(value) for key, _, text in pairs if (value := _number(text)) is not None
    }
    return facts | {key: stated_fact(1.0) for key, colon, _ in pairs if key == "sqrt" and not colon}


def _number(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _is_bagged(setting: Settings) -> bool:
    """Return whether each round used a sample of the records."""
    is_less = any(setting(key) not in (None, "1") for key in FRACTIONS)
    return setting("bagging_freq") not in (None, "0") and is_less


def _is_only_weighed(
    header: LightgbmHeader, trees: Sequence[GrownTree], linear: Sequence[bool], setting: Settings
) -> bool:
    """Return whether nothing but stated weights of the two classes speaks against the inversion of leaf values.

    Of a weight with as many digits as are written, more may be missing. Weights by the numbers of both
    (``is_unbalance``) follow from these.
    """
    text = setting(WEIGHT) or "1"
    weight, digits = _number(text), text.partition("e")[0].replace(".", "").lstrip("0")
    is_unbalanced = setting(UNBALANCE) == "1"
    if weight is None or weight <= 0 or len(digits) >= WRITTEN or (weight == 1) != is_unbalanced:
        return False
    plain = {WEIGHT: "1", UNBALANCE: "0"}
    return not _refused(header, trees, linear, lambda key: plain.get(key) or setting(key))


def _unstated(setting: Settings) -> tuple[str, ...]:
    """Return the settings that change leaf values and that the file does not state; no constraint is written as ""."""
    is_whole = all(setting(name) == "1" for name in FRACTIONS)
    bounded = () if setting(CONSTRAINTS) is not None else (CONSTRAINTS,)
    sampled = () if is_whole or setting("bagging_freq") else ("bagging_freq",)
    return (*bounded, *sampled, *(name for name in OTHERWISE if setting(name) in (None, "")))


def _refused(
    header: LightgbmHeader, trees: Sequence[GrownTree], linear: Sequence[bool], setting: Settings
) -> str:
    """Return why leaf values cannot be inverted, "" where nothing speaks against it."""
    for key, (plain, why) in OTHERWISE.items():
        said = setting(key)
        if said is not None and said not in plain:
            return why
    if any(set((setting(CONSTRAINTS) or "").split(",")) - {"", "0"}):
        return "constraints that predictions rise or fall with a column limited its leaf values"
    if header.average:
        return "it is a forest, whose trees do not build on each other"
    if any(linear):
        return LINEAR
    rounds = _number(setting("num_iterations"))
    if rounds is not None and rounds < len(trees) // header.outputs:
        return SEVERAL
    later = {tree.rate for tree in trees[header.outputs :] if len(tree.values) > 1}
    return UNEQUAL if len(later) > 1 else ""


TOLERANCE = 2e-5
"""How far sums of numbers of six digits may be from each other, relatively."""
SHORT = re.compile(
    r"-?(?=(?:\d\.?){1,6}(?:e|\Z)|0\.0*\d{1,6}(?:e|\Z))\d+(?:\.\d+)?(?:e[-+]\d{2,3})?"
)
"""A number of six digits."""
USUAL_RIDGES = (0.0, 1.0, 0.1, 0.5, 5.0, 10.0)
USUAL_EXTRAS = (10.0, 0.0)
"""What lambda_l2 and cat_l2 mostly are, where a file does not say it."""
VALUES, WEIGHTS = "internal_value", "internal_weight"


def unexplained_lines(document: LightgbmLines) -> Iterator[int]:
    """Yield the lines of inner nodes' values and weights that no leaf explains."""
    for block in document.trees:
        told = [key for key in (VALUES, WEIGHTS) if document.value_of(key, block.keys)]
        if told and not (_are_short(document, block, told) and _are_implied(document, block)):
            yield from (block.keys[key] for key in told)


def _are_short(document: LightgbmLines, block: TreeLines, keys: Sequence[str]) -> bool:
    """Return whether numbers have no more digits than the library prints."""
    entries = (
        entry for key in keys for entry in (document.value_of(key, block.keys) or "").split()
    )
    return all(map(SHORT.fullmatch, entries))


def _are_implied(document: LightgbmLines, block: TreeLines) -> bool:
    """Return whether what a checked tree says of its inner nodes follows from its leaves."""
    if document.value_of("is_linear", block.keys) == "1":
        return False
    left, right, types = (
        _numbers(document, key, block).astype(np.int64)
        for key in ("left_child", "right_child", "decision_type")
    )
    values, weights, leaf_values, leaf_weights = (
        _numbers(document, key, block) for key in (VALUES, WEIGHTS, "leaf_value", "leaf_weight")
    )
    size = len(left)
    if not size:
        return True
    if any(len(each) not in (0, size) for each in (values, weights)):
        return False
    if len(leaf_weights) != size + 1 or len(leaf_values) != size + 1 or len(types) != size:
        return not values.any() and not weights.any()
    children = np.stack([left, right], axis=1)
    summed = _summed(children, leaf_weights)
    if len(weights) and not _are_near(weights, summed):
        return False
    if not len(values):
        return True
    sums = np.concatenate([summed, leaf_weights[::-1]])  # -1 is the first leaf, so it stands last
    below = np.concatenate([values, leaf_values[::-1]])
    listed = set(np.flatnonzero(types & CATEGORICAL).tolist())
    lassos = {rate * _setting(document, "lambda_l1") for rate in _rates(document, block)}
    return any(
        _explains(
            children, _NodeNumbers(sums, below, start, lasso), ridge, dict.fromkeys(listed, extra)
        )
        for ridge, extra, start, lasso in product(
            *_settings(document, bool(listed)), {0.0, values[0]}, lassos
        )
    )


def _numbers(document: LightgbmLines, key: str, block: TreeLines) -> FloatArray:
    return np.array((document.value_of(key, block.keys) or "").split(), dtype=np.float64)


def _settings(
    document: LightgbmLines, has_lists: bool
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return what lambda_l2 and cat_l2 may be."""
    found = []
    for key, usual in (("lambda_l2", USUAL_RIDGES), ("cat_l2", USUAL_EXTRAS)):
        said = document.setting(key)
        try:
            found.append((float(said),) if said else usual)
        except ValueError:
            found.append(usual)
    return found[0], (*found[1], 0.0) if has_lists else (0.0,)


def _rates(document: LightgbmLines, block: TreeLines) -> set[float]:
    """Return what a tree may have been shrunk by: the library says 1 of one that a start was added to."""
    said = document.value_of("shrinkage", block.keys) or ""
    return {_setting(document, "learning_rate"), float(said) if SHORT.fullmatch(said) else 1.0}


def _setting(document: LightgbmLines, key: str) -> float:
    said = document.setting(key) or ""
    return float(said) if SHORT.fullmatch(said) else 0.0


def _summed(children: IntArray, leaf_weights: FloatArray) -> FloatArray:
    """Return the weights of inner nodes, (n,), each of which stands before those below it."""
    summed = np.zeros(len(children))
    for node in range(len(children) - 1, -1, -1):
        for child in children[node].tolist():
            summed[node] += summed[child] if child >= 0 else leaf_weights[~child]
    return summed


def _are_near(weights: FloatArray, summed: FloatArray) -> bool:
    return bool((np.abs(weights - summed) <= TOLERANCE * np.maximum(np.abs(weights), summed)).all())


@dataclass(frozen=True, slots=True)
class _NodeNumbers:
    """The sums of second derivatives and the values of all nodes, inner ones first.

    ``start`` is what was added to all values, ``lasso`` what the L1 penalty took from each sum of gradients, shrunk.
    """

    sums: FloatArray
    values: FloatArray
    start: float
    lasso: float


def _explains(
    children: IntArray, numbers: _NodeNumbers, ridge: float, extra: Mapping[int, float]
) -> bool:
    """Return whether sums of gradients add up at every inner node; ``extra`` may be added for children of some."""
    ridges = np.full(len(numbers.sums), ridge)
    for node in sorted(extra):  # parents before children: each but the first knows its own
        for more in (extra[node], 0.0):
            ridges[children[node]] = ridge + more
            if _adds_up(children[node : node + 1], numbers, ridges, first=node):
                break
    return _adds_up(children, numbers, ridges, first=0)


def _adds_up(children: IntArray, numbers: _NodeNumbers, ridges: FloatArray, first: int) -> bool:
    """Return whether gradients of children are those of their nodes, which stand one behind the other."""
    nodes = slice(first, first + len(children))
    weights = numbers.sums + ridges
    steps = numbers.values - numbers.start
    gradients = steps * weights + numbers.lasso * np.sign(steps)
    sizes = (np.abs(numbers.values) + abs(numbers.start)) * weights
    off = np.abs(gradients[children].sum(axis=1) - gradients[nodes])
    # Of a step of 0 it is known that the penalty took all of its gradients away: they are no larger.
    cut = numbers.lasso * ((steps[children] == 0).sum(axis=1) + (steps[nodes] == 0))
    return bool((off <= TOLERANCE * (sizes[children].sum(axis=1) + sizes[nodes]) + cut).all())
