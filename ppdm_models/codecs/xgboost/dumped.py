"""What the dumps of XGBoost, as JSON and as text, have in common: trees, and neither objective nor base score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.telling_text import telling
from treewarden.ppdm_models.codecs.xgboost.nested import Dump
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member
from treewarden.ppdm_models.tree.leaks import Leak
from treewarden.ppdm_models.tree.tree import Feature, Quality, Task

INDEXED = re.compile(r"f(\d{1,6})")


def ensemble_of(raw: Sequence[object], source: str) -> Ensemble:
    """Return the ensemble of nested trees.

    Raises:
        TreeFormatError: they are none, too many, or malformed.
    """
    if not 0 < len(raw) <= limits.TREES:
        raise TreeFormatError(source, f"{len(raw):,} trees, where 1 to {limits.TREES:,} should be")
    dump = Dump(raw, source)
    features = _features(dump)
    forest = dump.forest([feature.name for feature in features])
    trees = forest.trees(
        features,
        [Quality.HESSIAN if covered else Quality.ABSENT for covered in forest.counted()],
        source,
        lambda tree: f"{source}: tree {tree}",
    )
    return Ensemble(
        members=tuple(Member(tree, name=str(index)) for index, tree in enumerate(trees)),
        combination=Combination.SUM,
        features=features,
        target="",
        task=Task.REGRESSION,
        link=Link.UNKNOWN,
        source=source,
        notes=tuple(_notes(dump)),
    )


def telling_names(ensemble: Ensemble) -> tuple[Leak, ...]:
    """Return the names of features that tell of a person or a place."""
    found = [(feature.name, telling(feature.name)) for feature in ensemble.features]
    return tuple(
        Leak(kind, "", f"the name of the feature {name!r} looks like a {kind}")
        for name, kind in found
        if kind is not None
    )


def _features(dump: Dump) -> tuple[Feature, ...]:
    """Return the features that the trees test: by number where they have no names, else as they come."""
    names: Iterable[str] = dump.numeric
    if all(INDEXED.fullmatch(name) for name in dump.numeric):
        names = sorted(dump.numeric, key=lambda name: int(name[1:]))
    return tuple(
        Feature(name, numeric=dump.numeric[name], single=dump.numeric[name]) for name in names
    )


def _notes(dump: Dump) -> Iterable[str]:
    yield f"{dump.source}: a dump says neither the objective nor the base score; save the model to have both"
    if dump.indicators:
        yield (
            f"{dump.source}: {dump.indicators} tests on indicators say only whether the value is there; a 0 that is "
            "written out may go either way"
        )
    if dump.whole_covers():
        yield (
            f"{dump.source}: all covers are whole numbers, as where each record's second derivative is 1 "
            "(reg:squarederror); then they count training records"
        )
