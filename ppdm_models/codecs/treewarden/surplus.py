"""What our own JSON declares and no node of its tree has: values of a number, classes that nobody is in."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.codecs.common.origin import MOST_SIGNS, is_class_name
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Feature, Tree


def surplus_texts(tree: Tree) -> Iterator[Leak]:
    """Yield what is declared in words that no node needs: nobody could judge it."""
    for feature in tree.features:
        listed = _listed_numbers(feature) if feature.numeric else 0
        if listed:
            what = (
                f"{listed} values declared for a number: a list of values says what is in the table, and no test "
                "needs it; leave it out"
            )
            yield Leak(LeakKind.UNKNOWN, "/features", what)
    predicted = {node.score for node in tree.nodes}
    for node in tree.nodes:
        numbers = node.class_counts or node.class_shares or ()
        predicted |= {name for name, number in zip(tree.classes, numbers, strict=False) if number}
        bands = zip(tree.classes, node.bands or (), strict=False)
        predicted |= {name for name, band in bands if band is not None and band[1]}
    odd = sum(name not in predicted and not is_class_name(name) for name in tree.classes)
    if odd:
        what = f"{odd} classes that no node predicts or counts, called by more than a few words: read them"
        yield Leak(LeakKind.UNKNOWN, "/classes", what)


def _listed_numbers(feature: Feature) -> int:
    """Return how many values of a number are listed, beyond a few that stand for a missing or invalid one."""
    valid = len(feature.values) + sum(len(treatment.values) for treatment in feature.treatments)
    signs = sum(len(treatment.invalid) + len(treatment.missing) for treatment in feature.treatments)
    return valid + (signs if signs > MOST_SIGNS else 0)
