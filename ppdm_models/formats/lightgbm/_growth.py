"""What a LightGBM file tells of how its leaves were made: numbers of all nodes, each tree's rate, and the settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from treewarden.ppdm_models.formats.common.boosted import BoostedColumns
from treewarden.ppdm_models.formats.lightgbm._arrays import LightgbmNodes
from treewarden.ppdm_models.formats.lightgbm._lines import LightgbmLines, TreeLines, finite_numbers
from treewarden.ppdm_models.formats.lightgbm._model import LightgbmHeader
from treewarden.ppdm_models.tree.growth import EnsembleGrowth, Fact, GrownTree, stated_fact
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
)
"""The settings that decide the numbers of leaves and can be inverted."""
FRACTIONS = ("bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction")
SAMPLING = (*FRACTIONS, "bagging_freq", "bagging_seed")
"""Those that say which records each round saw, where it did not see all."""

LINEAR = "its leaves hold linear models"
UNEQUAL = (
    "its trees were shrunk by different rates: trees were dropped while it grew (dart), or the learning rate changed, "
    "which is not inverted"
)
SEVERAL = "it has more rounds than num_iterations: training went on from a model whose settings the file does not say"
OTHERWISE: Mapping[str, tuple[tuple[str, ...], str]] = {
    "boosting": (("gbdt", "gbrt"), "it was grown by another way of boosting than gbdt"),
    "data_sample_strategy": (("bagging",), "each round saw a sample of the records (goss)"),
    "linear_tree": (("0",), LINEAR),
    "path_smooth": (("0",), "its leaf values were smoothed along their paths (path_smooth)"),
    "use_quantized_grad": (("0",), "its gradients were rounded coarsely (use_quantized_grad)"),
    "is_unbalance": (("0",), "one class weighed more than the other (is_unbalance)"),
    "scale_pos_weight": (("1",), "one class weighed more than the other (scale_pos_weight)"),
    "num_machines": (("1",), "it was trained on several machines, each of which rounds its sums"),
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
    )


def weights_in(
    document: LightgbmLines, blocks: Sequence[TreeLines], forest: BoostedColumns
) -> Numbers:
    """Return the sums of second derivatives by node in the order of the forest; NaN where a text file has none."""
    found = []
    for block, (start, end) in zip(blocks, pairwise(forest.shape.starts.tolist()), strict=True):
        leaves = (end - start + 1) // 2
        column = np.full(end - start, np.nan)
        if document.said("leaf_weight", block.keys):
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
        if document.said("split_gain", block.keys):
            said = finite_numbers(document, "split_gain", block, leaves - 1, may_be=math.inf)
            column[: leaves - 1] = said
        found.append(column)
    return np.concatenate(found)[forest.shape.rows]


def are_gains(document: LightgbmLines, each: Sequence[LightgbmNodes]) -> bool:
    """Return whether the importances of features are anything else than how often the trees split on them."""
    names = (document.said("feature_names") or "").split()
    asked = np.concatenate([lightgbm_nodes.features for lightgbm_nodes in each]).astype(np.int64)
    often = {name: int((asked == index).sum()) for index, name in enumerate(names)}
    for line in (document.lines[at].rstrip("\r") for at in document.importances):
        name, _, count = line.rpartition("=")
        if count != str(often.get(name)):
            return True
    return False


def rate_in(said: object) -> float | None:
    """Return what a tree was shrunk by, as its ``shrinkage`` says; None where it says nothing of use."""
    return _number(str(said)) if isinstance(said, str | int | float) else None


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
    """Return whether each round saw a sample of the records."""
    is_less = any(setting(key) not in (None, "1") for key in FRACTIONS)
    return setting("bagging_freq") not in (None, "0") and is_less


def _refused(
    header: LightgbmHeader, trees: Sequence[GrownTree], linear: Sequence[bool], setting: Settings
) -> str:
    """Return why leaf values cannot be inverted, "" where nothing speaks against it."""
    for key, (plain, why) in OTHERWISE.items():
        said = setting(key)
        if said is not None and said not in plain:
            return why
    if any(set((setting("monotone_constraints") or "").split(",")) - {"", "0"}):
        return "constraints that predictions rise or fall with a column cut its leaf values"
    if header.average:
        return "it is a forest, whose trees do not build on each other"
    if any(linear):
        return LINEAR
    rounds = _number(setting("num_iterations"))
    if rounds is not None and rounds < len(trees) // header.outputs:
        return SEVERAL
    later = {tree.rate for tree in trees[header.outputs :] if len(tree.values) > 1}
    return UNEQUAL if len(later) > 1 else ""
