"""How a CatBoost file says its leaves were made: values, weights, and the training settings.

A published file keeps only the settings that its leaf values depend on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from treewarden.ppdm_models.formats.catboost._categories import unasked_texts
from treewarden.ppdm_models.formats.common.json import JsonPart, Steps
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, Fact, GrownTree, stated_fact
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Node

SILENT = "the file does not say how it was trained (model_info.params)"
SCALED = "its values were scaled, or its start was changed, after the training (scale_and_bias)"
STATISTICS = "it asks target statistics of categories (ctr), which in training hung on a random order of the records"
SEVERAL = "it has more trees than iterations: training went on from a model whose settings the file does not say"
OUTPUTS = "leaf values of the loss {loss!r} are not inverted: each leaf holds the numbers of several outputs"
PARAMETERS = "leaf values of the loss {loss!r} are not inverted where it has parameters ({names})"
GROUPS = ("boosting_options", "tree_learner_options", "data_processing_options", "system_options")
OTHERWISE: Mapping[str, tuple[object, str]] = {
    "task_type": ("CPU", "it was trained on a GPU, which keeps its sums in 32 bits"),
    "node_type": (
        "SingleHost",
        "it was trained on several machines, each of which rounds its sums",
    ),
    "langevin": (False, "noise was added to its gradients (langevin)"),
    "posterior_sampling": (False, "noise was added to its gradients (posterior_sampling)"),
    "model_shrink_rate": (0, "earlier trees were shrunk while it grew (model_shrink_rate)"),
    "monotone_constraints": (
        {},
        "constraints that predictions rise or fall with a column cut its leaf values",
    ),
    "dev_leafwise_approxes": (
        False,
        "its leaves were estimated one by one (dev_leafwise_approxes)",
    ),
    "auto_class_weights": ("None", "its classes were given weights (auto_class_weights)"),
    "class_weights": ([], "its classes were given weights (class_weights)"),
    "eval_fraction": (0, "some of the records were kept aside to test on (eval_fraction)"),
}
"""What each setting says where leaf values are steps over all records, and why they are not where it differs."""
MOST = float(np.finfo(np.float32).max)
"""Numbers of 32 bits are less; a whole number of any length can be held against a plain one."""
NUMBERS = ("learning_rate", "l2_leaf_reg", "leaf_estimation_iterations")
"""The settings that decide the numbers of leaves; the file writes 32-bit numbers."""
CHOICES: Mapping[str, Mapping[str, float]] = {
    "leaf_estimation_method": {"Newton": 1.0, "Gradient": 0.0},
    "leaf_estimation_backtracking": {"AnyImprovement": 1.0, "No": 0.0},
}


def growth_of(
    document: JsonPart,
    params: JsonPart | None,
    loss: str,
    forest: Sequence[tuple[Node, ...]],
    scale: float,
    base: tuple[float, ...],
) -> EnsembleGrowth:
    """Return what tells how the leaves were made; values are scaled by ``scale`` and moved by ``base``."""
    settings = _settings(params)
    refused = _refused(document, settings, len(forest), scale, base)
    if len(base) > 1 and loss != "MultiClass":
        refused = refused or OUTPUTS.format(loss=loss)
    refused = refused or _of_loss(params, loss)
    return EnsembleGrowth(
        "catboost",
        loss,
        len(base),
        tuple((index,) for index in range(len(forest))),
        tuple(_tree(nodes, len(base)) for nodes in forest),
        base,
        facts=_facts(settings),
        refused=refused,
    )


def _tree(nodes: Sequence[Node], outputs: int) -> GrownTree:
    none = (np.nan,) * outputs
    values = [_values(node) if node.is_leaf else none for node in nodes]
    counts = [node.records for node in nodes]
    return GrownTree(
        np.array(values, dtype=np.float64) if outputs > 1 else np.array([one for (one,) in values]),
        counts=None
        if any(count is None for count in counts)
        else np.array(counts, dtype=np.float64),
    )


def _values(leaf: Node) -> tuple[float, ...]:
    if leaf.outputs is not None:
        return leaf.outputs
    return (leaf.score if isinstance(leaf.score, float) else np.nan,)


def _settings(params: JsonPart | None) -> dict[str, object]:
    """Return what the training was told, by name; {} where that is withheld."""
    if params is None or not params.is_object:
        return {}
    found: dict[str, object] = {}
    for group in (params, *(params.get(name) for name in GROUPS)):
        if group is not None and group.is_object:
            found |= {name: part.value for name, part in group.entries()}
    return found


def _refused(
    document: JsonPart,
    settings: Mapping[str, object],
    trees: int,
    scale: float,
    base: tuple[float, ...],
) -> str:
    """Return why leaf values cannot be inverted, "" where nothing speaks against it."""
    if not settings:
        return SILENT
    for name, (plain, why) in OTHERWISE.items():
        if name in settings and settings[name] != plain:
            return why
    if scale != 1 or (settings.get("boost_from_average") is not True and any(base)):
        return SCALED
    statistics = document["features_info"].get("ctrs")
    if statistics is not None and len(statistics):
        return STATISTICS
    rounds = settings.get("iterations")
    return SEVERAL if isinstance(rounds, int | float) and rounds < trees else ""


def _of_loss(params: JsonPart | None, loss: str) -> str:
    """Return why a loss is not the plain one of its name, "" where it is."""
    json_part = None if params is None or not params.is_object else params.get("loss_function")
    told = None if json_part is None or not json_part.is_object else json_part.get("params")
    names = [] if told is None or not told.is_object else [name for name, _ in told.entries()]
    names = [name for name in names if not name.startswith("__")]
    return PARAMETERS.format(loss=loss, names=", ".join(names)[:60]) if names else ""


def _facts(settings: Mapping[str, object]) -> dict[str, Fact]:
    facts = {}
    for name in NUMBERS:
        value = settings.get(name)
        if isinstance(value, int | float) and abs(value) < MOST:
            facts[name] = stated_fact(float(np.float32(value)))
    for name, meanings in CHOICES.items():
        value = settings.get(name)
        if isinstance(value, str) and value in meanings:
            facts[name] = stated_fact(meanings[value])
    return facts


# Side channels of a CatBoost model: target counts per category, how and when it was trained.

OF_TARGETS = ("Borders", "Buckets")
COUNTS = (*OF_TARGETS, "Counter", "FeatureFreq")
EMPTY = str(2**64 - 1)
"""The hash of a place in the table that no category has."""

SECRETS = (
    ("train_finish_time", LeakKind.TIMESTAMP, "when the training ended"),
    ("model_guid", LeakKind.IDENTIFIER, "the number that names this model among all others"),
    ("params", LeakKind.REPLAY, "all training parameters, the random seed among them"),
    ("output_options", LeakKind.PATH, "the names of files and folders of the training"),
    ("training", LeakKind.AVERAGES, "the loss over the training records, after each tree"),
)


def leaks_of(document: JsonPart) -> tuple[Leak, ...]:
    """Return what the file gives away, in a fixed order.

    Raises:
        TreeFormatError: a part of it is malformed.
    """
    return (*_statistics(document), *_categories(document), *_training(document))


def _statistics(document: JsonPart) -> Iterator[Leak]:
    tables = document.get("ctr_data")
    for key, table in () if tables is None else tables.entries():
        stride = table["hash_stride"].whole(low=2)
        cells = list(table["hash_map"])
        rows = [
            cells[start + 1 : start + stride]
            for start in range(0, len(cells), stride)
            if cells[start].value != EMPTY
        ]
        listed = any(f'"type":"{kind}"' in key for kind in COUNTS)
        counts = [cell.amount() for row in rows for cell in row] if listed else []
        seen = [count for count in counts if count > 0]
        smallest = int(min(seen)) if seen else None
        yield Leak(
            _kind(key, rows) if listed else LeakKind.TARGET_STATISTICS,
            table.pointer,
            f"target counts of {len(rows)} categories, by hashes that a dictionary undoes",
            records=smallest,
        )


def _kind(key: str, rows: list[list[JsonPart]]) -> LeakKind:
    """Return what counts tell: of a category of one record they give its target, or that it is the only one."""
    if all(sum(cell.amount() for cell in row) != 1 for row in rows):
        return LeakKind.TARGET_STATISTICS
    says_target = any(f'"type":"{kind}"' in key for kind in OF_TARGETS)
    return LeakKind.EXACT_TARGETS if says_target else LeakKind.RARE_VALUES


def _categories(document: JsonPart) -> Iterator[Leak]:
    places = unasked_texts(document)
    if places:
        what = f"{len(places)} category values that no tree asks for, rare ones too"
        yield Leak(
            LeakKind.CATEGORIES, document["features_info"]["cat_features_hash"].pointer, what
        )


def _training(document: JsonPart) -> Iterator[Leak]:
    info = document.get("model_info")
    for key, kind, what in SECRETS:
        part = None if info is None else info.get(key)
        if part is not None and (key != "params" or settings_beside(document)):
            yield Leak(kind, part.pointer, what)


INFO = ("model_info",)
PARAMS = (*INFO, "params")
TYPES: Mapping[str, type] = {
    **dict.fromkeys(("boost_from_average", "dev_leafwise_approxes"), bool),
    **dict.fromkeys(("langevin", "posterior_sampling"), bool),
    **dict.fromkeys(("auto_class_weights", "node_type", "task_type", "type"), str),
    **dict.fromkeys(("leaf_estimation_backtracking", "leaf_estimation_method"), str),
    **dict.fromkeys(("monotone_constraints", "params"), dict),
    "class_weights": list,
}
"""What settings are that are no numbers."""
KEPT: Mapping[str, frozenset[str]] = {
    "boosting_options": frozenset(
        (
            *("boost_from_average", "iterations", "langevin", "learning_rate"),
            *("model_shrink_rate", "posterior_sampling"),
        )
    ),
    "data_processing_options": frozenset(("auto_class_weights", "class_weights", "eval_fraction")),
    "loss_function": frozenset(("params", "type")),
    "system_options": frozenset(("node_type",)),
    "tree_learner_options": frozenset(
        (
            *("dev_leafwise_approxes", "l2_leaf_reg", "leaf_estimation_backtracking"),
            *("leaf_estimation_iterations", "leaf_estimation_method", "monotone_constraints"),
        )
    ),
}
"""The settings that decide what leaf values tell: they are a part of the model, and stay."""
ALONE = frozenset(("task_type",))
"""Such settings that stand in no group."""


def params_of(document: JsonPart) -> JsonPart | None:
    """Return the settings of the training, None where a file has none; older ones have them as text."""
    info = document.get("model_info")
    return None if info is None else info.get("params")


def unneeded_settings(document: JsonPart) -> Iterator[Steps]:
    """Yield the places of all settings that decide nothing of what leaf values tell: seeds, and how it was sampled."""
    params = params_of(document)
    if params is None:
        return
    if not params.is_object:
        yield PARAMS
        return
    for name, part in params.entries():
        if name in ALONE:
            continue
        if name not in KEPT or not part.is_object:
            yield (*PARAMS, name)
        else:
            yield from ((*PARAMS, name, key) for key, _ in part.entries() if key not in KEPT[name])


def settings_beside(document: JsonPart) -> bool:
    """Return whether a file holds more settings than those that decide what leaf values tell."""
    return any(True for _ in unneeded_settings(document))
