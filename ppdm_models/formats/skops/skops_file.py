"""skops archives of scikit-learn estimators: described objects and arrays, read without building any."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from treewarden.ppdm_models.formats import Format, Opened, Strippable
from treewarden.ppdm_models.formats.common.origin import stray_files
from treewarden.ppdm_models.formats.skops._estimator import (
    TREES,
    Fitted,
    behind_pipelines,
    claims_privacy,
    fitted_of,
)
from treewarden.ppdm_models.formats.skops._models import model_of
from treewarden.ppdm_models.formats.skops._parts import (
    SCHEMA,
    Archive,
    FilePart,
    open_archive,
)
from treewarden.ppdm_models.formats.skops._pipeline_columns import is_identity
from treewarden.ppdm_models.formats.skops._privacy_claims import AVERAGES, without_residuals
from treewarden.ppdm_models.formats.skops._rewriting import (
    EMPTIED,
    LEFT_BY_TRAINING,
    has_room,
    is_counted,
    is_dated,
    is_printed_plainly,
    training_left,
    without_training,
    written_anew,
)
from treewarden.ppdm_models.formats.skops._side_channels import leaks_of
from treewarden.ppdm_models.formats.skops._table_tests import Derived
from treewarden.ppdm_models.formats.skops._unread import (
    OF_ROOT,
    Strange,
    clean_npy,
    is_of_trees,
    strange_forms,
    strange_of_trees,
    strange_versions,
)
from treewarden.ppdm_models.formats.skops._unread_binned import (
    is_of_bins,
    is_of_boosting,
    strange_of_bins,
    strange_of_boosting,
)
from treewarden.ppdm_models.formats.skops._unread_steps import StepContext, strange_of_steps
from treewarden.ppdm_models.formats.skops._votes import is_of_votes, strange_of_votes
from treewarden.ppdm_models.limits import is_archive
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, atoms
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind, unread_rest

ATTRIBUTES = {
    LeakKind.REPLAY: ("random_state",),
    LeakKind.PER_RECORD: ("oob_decision_function_", "oob_prediction_"),
    LeakKind.TARGET_STATISTICS: ("oob_score_",),
    LeakKind.MEDIANS: (EMPTIED,),
    LeakKind.UNKNOWN: LEFT_BY_TRAINING,
}
"""What is taken out to remove leaks of a kind."""
BETWEEN_QUOTES = re.compile(rb'"([^"]*)(?=")')
"""Whatever stands between one quote and the next, of which each closes one and opens another."""


class Skops(Format):
    """A decision tree, forest or boosted model, alone or at the end of a pipeline."""

    how_to_export = "save it again with skops.io.dump"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return is_archive(data) and b"schema.json" in data

    def open(self, data: bytes, source: str) -> Opened:
        root = open_archive(data, source).root()
        fitted = fitted_of(root)
        if is_accounted(root, fitted):
            return _OpenedSkops(data, root, fitted)
        return Opened(model_of(fitted), (*_leaks(root, fitted), unread_rest("skops_file")))


class _OpenedSkops(Strippable):
    """A file of one tree, forest or boosted estimator, alone or behind steps, all of which is accounted for."""

    def __init__(self, data: bytes, root: FilePart, fitted: Fitted) -> None:
        model = model_of(fitted)  # first: it refuses arrays that contradict each other
        told = [_removable(leak) for leak in _leaks(root, fitted)]
        super().__init__(model, (*told, *_beside_model(data, root, fitted, model)))
        self.archive = root.archive
        self.boosted = _boosted_trees(root, fitted)
        self.trees_of_numbers = _trees_of_numbers(root, fitted)

    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        removed = [name for kind, names in ATTRIBUTES.items() if kind in kinds for name in names]
        # Variances of numbers are judged with the trees, but tell contributors more than totals.
        changed = without_residuals(self.trees_of_numbers, are_boosted=False)
        if LeakKind.AVERAGES in kinds:
            changed |= without_residuals(self.boosted)
        return written_anew(self.archive, removed, changed)


def _boosted_trees(root: FilePart, fitted: Fitted) -> list[FilePart]:
    """Return the trees of gradient boosting; none for other estimators."""
    part = fitted_part(root, fitted)
    return part.attributes()["estimators_"].items() if is_of_boosting(part) else []


def _trees_of_numbers(root: FilePart, fitted: Fitted) -> list[FilePart]:
    """Return a tree of numbers, or those of a forest; none for other estimators."""
    part = fitted_part(root, fitted)
    attributes = part.attributes()
    if fitted.classes or is_of_boosting(part):
        return []
    trees = attributes["estimators_"].items() if "estimators_" in attributes else [part]
    is_of_trees = all("tree_" in tree.attributes() for tree in trees)
    return trees if is_of_trees else []


def _removable(leak: Leak) -> Leak:
    if leak.what == AVERAGES:
        return replace(leak, removable=True)
    goes = leak.where.rpartition("/")[2] in ATTRIBUTES.get(leak.kind, ())
    return replace(leak, removable=True) if goes else leak


def _beside_model(data: bytes, root: FilePart, fitted: Fitted, model: Model) -> Iterator[Leak]:
    """Yield what no reader of the file knows; what its writer left between numbers, objects and files goes with it."""
    yield from training_left(root, fitted_part(root, fitted))
    for strange in strange_parts(root, fitted, model):
        yield Leak(
            LeakKind.UNKNOWN, strange.where, f"{strange.what}: treewarden does not inspect it"
        )
    archive = root.archive
    arrays = [name for name in archive.files if name.endswith(".npy")]
    dirty = [name for name in arrays if not _is_clean(archive, name)]
    if dirty:
        what = (
            "unused bytes that NumPy saved from memory: they may hold parts of the training table"
        )
        where = dirty[0] if len(dirty) == 1 else f"{len(dirty)} arrays, the first {dirty[0]}"
        yield Leak(LeakKind.UNKNOWN, where, what, removable=True)
    if not is_printed_plainly(archive.files[SCHEMA], root.raw):
        what = "blanks or escapes that skops does not write: treewarden does not inspect them"
        yield Leak(LeakKind.UNKNOWN, SCHEMA, what, removable=True)
    if has_room(data):
        what = "bytes of the archive that belong to no file in it"
        yield Leak(LeakKind.UNKNOWN, "the archive", what, removable=True)
    if is_dated(data):
        yield Leak(LeakKind.TIMESTAMP, "the archive", "when the file was written", removable=True)
    if not is_counted(root.raw):
        what = "memory addresses of the program that wrote the file"
        yield Leak(LeakKind.IDENTIFIER, SCHEMA, what, removable=True)


def _is_clean(archive: Archive, name: str) -> bool:
    return clean_npy(archive.files[name], f"{archive.source}/{name}") == archive.files[name]


def _leaks(root: FilePart, fitted: Fitted) -> Iterator[Leak]:
    files = root.archive.files
    schema = files[SCHEMA]
    yield from leaks_of(root, fitted)
    named = {SCHEMA, *_named(files, schema)}
    yield from stray_files(files, lambda name: name in named)


def _named(files: Collection[str], schema: bytes) -> Iterator[str]:
    """Yield the files whose names stand in the schema between quotes: all in one pass, as there may be thousands."""
    plain = {name.encode("utf-8", "surrogatepass"): name for name in files if '"' not in name}
    for between in BETWEEN_QUOTES.finditer(schema):
        if between[1] in plain:
            yield plain[between[1]]


FORMAT = Skops()


# Which skops files are accounted for in full, and what in them no reader knows.


def is_accounted(root: FilePart, fitted: Fitted) -> bool:
    """Return whether a file holds one estimator of which all can be judged, alone or behind steps that are followed."""
    part = fitted_part(root, fitted)
    _, steps = behind_pipelines(root)
    if fitted.columns is None and not all(is_identity(step) for _, step in steps):
        return False
    is_private = claims_privacy(part) and part.kind.startswith(TREES)
    return (
        is_private
        or is_of_trees(part)
        or is_of_bins(part, fitted)
        or is_of_boosting(part)
        or is_of_votes(part)
    )


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
    elif is_of_votes(part):
        yield from strange_of_votes(part, fitted)
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
