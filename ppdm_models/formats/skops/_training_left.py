"""What training leaves in an estimator that no prediction needs: random generators, losses, the ends of bins.

All of it can be taken out: a copy without it (``without_training``) is what the rest of a file is held against.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from treewarden.ppdm_models.formats.common.json import pointer
from treewarden.ppdm_models.formats.skops._parts import FilePart
from treewarden.ppdm_models.formats.skops._rewriting import EMPTIED, objects_in, take_out
from treewarden.ppdm_models.formats.skops._unread import is_size
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

LEFT_BY_TRAINING = (
    *("_random_seed", "_feature_subsample_rng", "train_score_", "validation_score_"),
    "n_bins_non_missing_",
    *("y_true_int", "y_true_one_hot", "class_indexing_offsets"),
    *("_rng", "oob_improvement_", "oob_scores_"),
    *("n_samples_seen_", "var_"),  # of scalers; the variance is the square of the scale
)
"""What goes whenever unknown content goes: random generators, losses, sizes, and the targets that a loss may keep."""
SEED = "random_state"


def without_training(root: FilePart) -> FilePart:
    """Return a copy of a description without what the training left, without seeds, and with no ends of bins."""
    raw = copy.deepcopy(dict(root.raw))
    for part in objects_in(raw):
        take_out(part, (*LEFT_BY_TRAINING, EMPTIED, SEED))
    for part in objects_in(raw):
        if type(part.get("__id__")) is object:  # of what took the place of a seed
            part["__id__"] = 0
    return FilePart(root.archive, raw, root.steps)


def training_left(root: FilePart, estimator: FilePart) -> Iterator[Leak]:
    """Yield that estimators keep random generators and losses of their training, and seeds of their own.

    The seed of ``estimator`` is a leak of its own where it is a number.
    """
    generators: list[tuple[str | int, ...]] = []
    seeds: list[tuple[str | int, ...]] = []
    own = (*estimator.steps, "content", "content", SEED)
    for steps, content in _dictionaries(root.raw):
        kept = [name for name in LEFT_BY_TRAINING if name in content]
        if kept:
            what = f"what the training left: {', '.join(kept)}"
            yield Leak(LeakKind.UNKNOWN, pointer((*steps, kept[0])), what, removable=True)
        seed = content.get(SEED)
        if not isinstance(seed, dict):
            continue
        value = FilePart(root.archive, seed, (*steps, SEED))
        is_plain = value.loader == "JsonNode"
        if is_plain and "subsample" in content and "n_bins" in content and is_size(value.plain()):
            yield Leak(
                LeakKind.REPLAY, pointer(value.steps), "the seed of the bins", removable=True
            )
        elif not is_plain or not (value.plain() is None or is_size(value.plain())):
            generators.append(value.steps)
        elif is_plain and value.plain() is not None and value.steps != own:
            seeds.append(value.steps)
    if seeds:
        what = f"seeds of {len(seeds)} trees or steps: what was drawn for them can be drawn again"
        yield Leak(LeakKind.REPLAY, pointer(seeds[0]), what, removable=True)
    if generators:
        more = "" if len(generators) == 1 else f", in {len(generators)} estimators"
        what = f"a seed that is no number, or the state of a random generator{more}"
        yield Leak(LeakKind.UNKNOWN, pointer(generators[0]), what, removable=True)


def _dictionaries(
    root: Mapping[str, Any],
) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield the place and the entries of every described dictionary, those outside first."""
    pending: list[tuple[tuple[str | int, ...], object]] = [((), root)]
    while pending:
        steps, part = pending.pop()
        if isinstance(part, dict):
            content = part.get("content")
            if part.get("__loader__") == "DictNode" and isinstance(content, dict):
                yield (*steps, "content"), content
            pending += [((*steps, key), part[key]) for key in reversed(part)]
        elif isinstance(part, list):
            pending += [((*steps, at), part[at]) for at in reversed(range(len(part)))]
