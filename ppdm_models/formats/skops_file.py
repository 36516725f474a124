"""skops archives of scikit-learn estimators: described objects and arrays, read without building any."""

from __future__ import annotations

from collections.abc import Iterator

from ppdm_models.codecs.common.archive import is_archive
from ppdm_models.codecs.common.stray_files import stray_files
from ppdm_models.codecs.sklearn.leaks import seed_leak, size_leak, spread_leak
from ppdm_models.codecs.skops.fitted import Fitted, fitted_of
from ppdm_models.codecs.skops.leaks import of_records, of_steps, place_of
from ppdm_models.codecs.skops.models import arrays_in, model_of
from ppdm_models.codecs.skops.schema import SCHEMA, Part, open_archive
from ppdm_models.formats import Format, Opened
from ppdm_models.tree.leaks import Leak, LeakKind


class Skops(Format):
    """A decision tree, forest or boosted model, alone or at the end of a pipeline."""

    def sniff(self, data: bytes) -> bool:
        return is_archive(data) and b"schema.json" in data

    def open(self, data: bytes, source: str) -> Opened:
        root = open_archive(data, source).root()
        return Opened(model_of(root), _leaks(root))


def _leaks(root: Part) -> Iterator[Leak]:
    files = root.archive.files
    schema, fitted = files[SCHEMA], fitted_of(root)
    yield from of_steps(root, fitted.part)
    yield from _of_settings(fitted)
    yield from of_records(fitted)
    if "estimators_" not in fitted.known:
        yield from _of_tree(fitted)
    yield from stray_files(files, lambda name: name == SCHEMA or f'"{name}"'.encode() in schema)


def _of_settings(fitted: Fitted) -> Iterator[Leak]:
    yield from seed_leak(fitted.plain("random_state"), place_of(fitted.part, "random_state"))
    if "init_" in fitted.known and fitted.known["init_"].kind.startswith("Dummy"):
        yield Leak(
            LeakKind.TARGET_STATISTICS,
            place_of(fitted.part, "init_"),
            "the mean of the target, or the shares of its classes, over all training records",
        )


def _of_tree(fitted: Fitted) -> Iterator[Leak]:
    arrays = arrays_in(fitted.part, len(fitted.names))
    where = place_of(fitted.part, "tree_")
    yield from size_leak(arrays, where)
    yield from spread_leak(arrays, not fitted.classes, where)


FORMAT = Skops()
