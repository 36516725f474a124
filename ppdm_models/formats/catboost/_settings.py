"""Which of CatBoost's settings decide what leaf values tell, and so stay in a file that is published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treewarden.ppdm_models.formats.common.json import JsonPart, Steps

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
