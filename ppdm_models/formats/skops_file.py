"""skops archives of scikit-learn estimators: described objects and arrays, read without building any."""

from __future__ import annotations

from collections.abc import Iterator

from ppdm_models.archive import is_archive
from ppdm_models.ensemble import Model
from ppdm_models.formats import Format
from ppdm_models.formats._json import pointer
from ppdm_models.formats._sklearn_leaks import seed_leak, size_leak, spread_leak
from ppdm_models.formats._skops_fitted import Fitted, fitted_of
from ppdm_models.formats._skops_models import arrays_in, model_of
from ppdm_models.formats._skops_schema import Part, open_archive
from ppdm_models.leaks import Leak, LeakKind


class Skops(Format):
    """A decision tree, forest or boosted model, alone or at the end of a pipeline."""

    def sniff(self, data: bytes) -> bool:
        return is_archive(data) and b"schema.json" in data

    def read(self, data: bytes, source: str) -> Model:
        return model_of(open_archive(data, source).root())

    def leaks(self, data: bytes, source: str) -> tuple[Leak, ...]:
        root = open_archive(data, source).root()
        fitted = fitted_of(root)
        is_ensemble = "estimators_" in fitted.known
        return (*_of_steps(root), *_of_settings(fitted), *(() if is_ensemble else _of_tree(fitted)))


def _of_settings(fitted: Fitted) -> Iterator[Leak]:
    yield from seed_leak(fitted.plain("random_state"), _place(fitted.part, "random_state"))
    if "init_" in fitted.known and fitted.known["init_"].kind.startswith("Dummy"):
        yield Leak(
            LeakKind.TARGET_STATISTICS,
            _place(fitted.part, "init_"),
            "the mean of the target, or the shares of its classes, over all training records",
        )


def _of_tree(fitted: Fitted) -> Iterator[Leak]:
    arrays = arrays_in(fitted.part, len(fitted.names))
    where = _place(fitted.part, "tree_")
    yield from size_leak(arrays, where)
    yield from spread_leak(arrays, not fitted.classes, where)


def _of_steps(root: Part) -> Iterator[Leak]:
    """Yield what scalers publish of the training table."""
    pending = [root]
    while pending:
        part = pending.pop()
        known = part.attributes() if part.loader == "ObjectNode" else {}
        if part.kind == "Pipeline" and "steps" in known:
            pending.extend(step.items()[-1] for step in reversed(known["steps"].items()))
        if "data_min_" in known:
            what = "the least and the largest training value of each feature"
            yield Leak(LeakKind.EXTREMES, _place(part, "data_min_"), what)
        if part.kind == "StandardScaler":
            what = "the mean and the variance of each feature over all training records"
            yield Leak(LeakKind.HISTOGRAM, _place(part, "mean_"), what)


def _place(part: Part, attribute: str) -> str:
    return pointer((*part.steps, "content", "content", attribute))


FORMAT = Skops()
