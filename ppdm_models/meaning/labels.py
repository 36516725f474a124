"""Whether the label of each node is the most frequent of the classes that the file itself counts there."""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.meaning.consistency import RELATIVE_TOLERANCE
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.node_columns import class_numbers_of, codes_of, where_of
from treewarden.ppdm_models.tree.tree import Tree

MOST_CLASSES = 6
"""So many numbers are shown of a node."""


def label_misfit(tree: Tree) -> str | None:
    """Return the first label that the node's own class numbers contradict; None where all fit, or need not.

    A label need not be the most frequent class where the file says why: classes that were weighed, noise, priors.
    """
    learner = tree.learner
    if not tree.classes or tree.label_reason or learner.weighs_classes or learner.saw_noise:
        return None
    labels, numbers = codes_of(tree), class_numbers_of(tree)
    told = np.flatnonzero((labels >= 0) & ~np.isnan(numbers).any(axis=1))
    if not len(told):
        return None
    own = numbers[told, labels[told]]
    most = numbers[told].max(axis=1)
    wrong = told[most > own + RELATIVE_TOLERANCE * np.maximum(1.0, most)]
    if not len(wrong):
        return None
    first = int(wrong[0])
    shown = ", ".join(map(number_text, numbers[first, :MOST_CLASSES].tolist()))
    label = tree.classes[int(labels[first])]
    return f"{where_of(tree, first)}: its label {label!r} is not the most frequent of its classes ({shown})"
