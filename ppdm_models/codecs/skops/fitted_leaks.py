"""What a fitted estimator gives away beside its trees, in a file or in memory."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.codecs.sklearn.leaks import seed_leak, size_leak, spread_leak
from treewarden.ppdm_models.codecs.skops.fitted import Fitted
from treewarden.ppdm_models.codecs.skops.leaks import of_records, of_steps
from treewarden.ppdm_models.codecs.skops.models import arrays_in
from treewarden.ppdm_models.codecs.skops.part import Part
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind


def leaks_of(root: Part, fitted: Fitted) -> Iterator[Leak]:
    """Yield the leaks: of the steps before the estimator, of its settings, of its tree where it has one."""
    yield from of_steps(root, fitted.part)
    yield from _of_settings(fitted)
    yield from of_records(fitted)
    yield from _of_bins(fitted)
    if "tree_" in fitted.known:
        yield from _of_tree(fitted)


def _of_settings(fitted: Fitted) -> Iterator[Leak]:
    yield from seed_leak(fitted.plain("random_state"), fitted.part.place_of("random_state"))
    if "init_" in fitted.known and fitted.known["init_"].kind.startswith("Dummy"):
        yield Leak(
            LeakKind.TARGET_STATISTICS,
            fitted.part.place_of("init_"),
            "the mean of the target, or the shares of its classes, over all training records",
        )


def _of_bins(fitted: Fitted) -> Iterator[Leak]:
    bins, coder = fitted.known.get("_bin_mapper"), fitted.known.get("_preprocessor")
    if bins is not None:
        what = "the ends of the bins of each feature, which lie between values of training records"
        yield Leak(LeakKind.MEDIANS, bins.place_of("bin_thresholds_"), what)
    if coder is not None and coder.loader == "ObjectNode":
        what = "all values of each column of categories, those of one record too"
        yield Leak(LeakKind.CATEGORIES, coder.place_of("transformers_"), what)


def _of_tree(fitted: Fitted) -> Iterator[Leak]:
    arrays = arrays_in(fitted.part, fitted.width)
    where = fitted.part.place_of("tree_")
    yield from size_leak(arrays, where)
    yield from spread_leak(arrays, not fitted.classes, where)
