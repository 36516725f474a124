"""Which skops files are accounted for in full, and what in them no reader knows."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.formats.skops._estimator import Fitted, behind_pipelines
from treewarden.ppdm_models.formats.skops._parts import FilePart
from treewarden.ppdm_models.formats.skops._pipeline_columns import is_identity
from treewarden.ppdm_models.formats.skops._table_tests import Derived
from treewarden.ppdm_models.formats.skops._training_left import without_training
from treewarden.ppdm_models.formats.skops._unread import (
    KINDS,
    MODULES,
    OF_ROOT,
    Strange,
    strange_forms,
    strange_of_trees,
    strange_versions,
)
from treewarden.ppdm_models.formats.skops._unread_binned import is_of_bins, strange_of_bins
from treewarden.ppdm_models.formats.skops._unread_boosted import (
    is_of_boosting,
    strange_of_boosting,
)
from treewarden.ppdm_models.formats.skops._unread_steps import StepContext, strange_of_steps
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, atoms


def is_accounted(root: FilePart, fitted: Fitted) -> bool:
    """Return whether a file holds one estimator of which all can be judged, alone or behind steps that are followed."""
    part = fitted_part(root, fitted)
    _, steps = behind_pipelines(root)
    if fitted.columns is None and not all(is_identity(step) for _, step in steps):
        return False
    is_of_trees = part.module in MODULES and part.kind in KINDS
    return is_of_trees or is_of_bins(part, fitted) or is_of_boosting(part)


def strange_parts(root: FilePart, fitted: Fitted, model: Model) -> Iterator[Strange]:
    """Yield what stands in the description that no reader knows, but for what the training left."""
    bare = without_training(root)
    yield from strange_versions(root)
    yield from strange_forms(bare, OF_ROOT)
    part = fitted_part(bare, fitted)
    if part.place != root.place:
        columns = [Derived(place) for place in range(len(fitted.names))]
        context = StepContext(fitted.names, frozenset(_values(model)))
        yield from strange_of_steps(bare, columns, context, part.place)
    if is_of_bins(part, fitted):
        yield from strange_of_bins(part, fitted)
    elif is_of_boosting(part):
        yield from strange_of_boosting(part, fitted)
    else:
        yield from strange_of_trees(part, fitted)


def _values(model: Model) -> Iterator[str]:
    """Yield the categories that a model has: those of its features, and those that its tests name."""
    for feature in model.features:
        yield from feature.values
    for tree in trees_of(model):
        for node in tree.nodes:
            for atom in atoms(node.test):
                if isinstance(atom, CategoryTest):
                    yield from atom.values


def fitted_part(root: FilePart, fitted: Fitted) -> FilePart:
    """Return the estimator of a description, found by its place."""
    raw: object = root.raw
    for step in fitted.part.place:
        assert isinstance(raw, dict | list)
        raw = raw[step]  # type: ignore[index]  # its place was found in the same description
    assert isinstance(raw, dict)
    return FilePart(root.archive, raw, fitted.part.place)
