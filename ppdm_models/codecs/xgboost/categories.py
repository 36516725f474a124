"""The names of categories that an XGBoost model trained on data frames carries (``cats``, version 3)."""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.codecs.boosted.trees import numbers, wholes
from treewarden.ppdm_models.codecs.common.json import Steps, as_list, as_object, refused
from treewarden.ppdm_models.tree.column import number_text


def category_names(container: object, source: str, steps: Steps) -> dict[int, tuple[str, ...]]:
    """Return the names of each categorical feature's categories, in the order of their codes.

    XGBoost 3.2 cuts names that are not ASCII (it counts characters and stores bytes); where that leaves no text, or
    the same name twice, the feature is left out and its codes serve as names.

    Raises:
        TreeFormatError: the container contradicts itself.
    """
    if container is None:
        return {}
    encoded = as_object(container, source, steps).get("enc", [])
    found = {}
    for index, raw in enumerate(as_list(encoded, source, [*steps, "enc"])):
        at = [*steps, "enc", index]
        entry = as_object(raw, source, at)
        if "offsets" in entry:
            names = _texts(entry, source, at)
        else:
            values = numbers(entry.get("values", []), source, [*at, "values"])
            names = tuple(map(number_text, values.tolist()))
        if names and len(set(names)) == len(names):
            found[index] = names
    return found


def _texts(entry: dict[str, object], source: str, steps: Steps) -> tuple[str, ...]:
    """Cut the bytes of all names, end to end, at their offsets."""
    ends = wholes(entry["offsets"], source, [*steps, "offsets"])
    raw = wholes(entry.get("values", []), source, [*steps, "values"])
    if (np.abs(raw) > 255).any() or (np.diff(ends) < 0).any():
        raise refused(source, steps, "is no list of names")
    if len(ends) and (ends[0] != 0 or ends[-1] > len(raw)):
        raise refused(source, [*steps, "offsets"], "leave the bytes of the names")
    data = (raw & 255).astype(np.uint8).tobytes()
    try:
        return tuple(
            data[start:end].decode() for start, end in zip(ends[:-1], ends[1:], strict=True)
        )
    except UnicodeDecodeError:
        return ()
