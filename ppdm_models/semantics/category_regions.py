"""Trees that test categories, each feature once per path: what reaches a node, and what no child of it takes.

No record has to be made for it: whether children overlap or leave a gap follows from the sets that they name, in time
that grows with how many values the file names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, Predicate
from treewarden.ppdm_models.tree.tree import Feature, Tree


@dataclass(frozen=True, slots=True)
class CategoryRegion:
    """What holds of every record that reaches a node: ``features`` were tested above it, each at one node.

    ``conditions`` counts the tests that hold and those of earlier siblings that do not. ``is_reached`` says whether
    some record meets all of them.
    """

    features: frozenset[str]
    conditions: int
    is_reached: bool


EVERYTHING = CategoryRegion(frozenset(), 0, is_reached=True)


@dataclass(frozen=True, slots=True)
class DeclaredSplit:
    """Children that each take some categories of one feature, which the file declares: its tests, in their order."""

    feature: Feature
    tests: tuple[CategoryTest, ...]

    @property
    def first_gap(self) -> str | None:
        """The first declared category that no child takes; None where there is none."""
        named = {value for test in self.tests for value in test.values}
        return next((value for value in self.feature.values if value not in named), None)

    @property
    def has_overlap(self) -> bool:
        """Whether some category is taken by two children."""
        named = [value for test in self.tests for value in test.values]
        return len(set(named)) < len(named)

    def below(self, region: CategoryRegion) -> Iterator[CategoryRegion]:
        """Yield the region of each child, in their order; ``region`` is that of their parent, free of the feature."""
        features, taken = region.features | {self.feature.name}, set[str]()
        for earlier, test in enumerate(self.tests):
            is_reached = region.is_reached and not taken.issuperset(test.values)
            yield CategoryRegion(features, region.conditions + 1 + earlier, is_reached)
            taken.update(test.values)


def category_split(
    features: Mapping[str, Feature], tests: Sequence[Predicate]
) -> DeclaredSplit | None:
    """Return the split that tests make; None where one of them is not of a set of one feature's declared categories."""
    sets = tuple(test for test in tests if isinstance(test, CategoryTest) and not test.negated)
    if len(sets) < len(tests) or len({test.feature for test in sets}) != 1:
        return None
    feature = features.get(sets[0].feature)
    if feature is None or feature.numeric or not feature.values:
        return None
    return DeclaredSplit(feature, sets)


class CategoryRegions:
    """The regions of a tree's nodes, as far as they are of this kind, worked out from the root down."""

    def __init__(self, tree: Tree) -> None:
        is_open = isinstance(tree.root.test, Always)
        self._of_node = {tree.root.index: EVERYTHING} if is_open else {}

    def take(
        self, node: int, children: Sequence[int], split: DeclaredSplit | None
    ) -> CategoryRegion | None:
        """Return a node's region where it and the split of its children are of this kind; note those of its children.

        Each is asked for once, after its parent; another order only means that less is known.
        """
        region = self._of_node.pop(node, None)
        if region is None or split is None or split.feature.name in region.features:
            return None
        self._of_node.update(zip(children, split.below(region), strict=True))
        return region
