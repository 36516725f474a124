"""What every scikit-learn file gives away beside its tree: a seed, exact sizes, the spread of tiny leaves."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.codecs.sklearn.arrays import TreeArrays
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind


def seed_leak(seed: object, where: str) -> Iterator[Leak]:
    """Yield that training can be repeated, where the seed is a number."""
    if isinstance(seed, int) and not isinstance(seed, bool):
        yield Leak(
            LeakKind.REPLAY,
            where,
            f"random_state {seed} stands with all settings: training can be repeated on guessed records",
        )


def size_leak(arrays: TreeArrays, where: str) -> Iterator[Leak]:
    """Yield that a weighted tree still tells how many records each leaf holds."""
    if not arrays.is_unweighted:
        smallest = int(arrays.samples[arrays.children_left < 0].min())
        yield Leak(
            LeakKind.SMALL_COUNTS,
            where,
            "n_node_samples counts the records of each leaf, though the classes are weighted",
            records=smallest,
        )


def spread_leak(arrays: TreeArrays, is_regression: bool, where: str) -> Iterator[Leak]:
    """Yield that mean and variance of a leaf of two give both values of the target."""
    leaves = arrays.samples[arrays.children_left < 0]
    if is_regression and arrays.tells_counts and (leaves <= 2).any():
        yield Leak(
            LeakKind.EXACT_TARGETS,
            where,
            "the mean and the impurity of a leaf with 1 or 2 records give their target values exactly",
            records=int(leaves.min()),
        )
