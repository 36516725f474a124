"""Reads a fitted estimator from memory, as its file would be read."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_models.codecs.sklearn.fitted import from_sklearn
from ppdm_models.errors import TreeFormatError
from ppdm_models.files.load import OpenedFile
from ppdm_models.formats import Opened


def open_fitted(estimator: object, *, target: str = "", names: Sequence[str] = ()) -> OpenedFile:
    """Return the model that a fitted estimator is; ``names`` are its features where it knows none.

    Raises:
        TreeFormatError: it is not fitted, or not one that is understood.
    """
    kind = type(estimator).__name__
    known = getattr(estimator, "feature_names_in_", None)
    size = getattr(estimator, "n_features_in_", None)
    given = names if known is None and len(names) == size else None
    try:
        tree = from_sklearn(estimator, given, target=target)
    except (TypeError, ValueError) as error:
        raise TreeFormatError(kind, str(error)) from error
    return OpenedFile(tree, (), Opened(tree))
