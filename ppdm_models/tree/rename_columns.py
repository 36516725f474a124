"""The features of a model under the names of a table's columns, where its file does not name them (f0, Column_0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from treewarden.ppdm_models.errors import TreeFormatError, near_text
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.nodes import Cuts, Node, NodeTable, OtherSplit
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    Never,
    OneOf,
    Predicate,
    Refusal,
    Surrogate,
    Unknown,
)
from treewarden.ppdm_models.tree.tree import Feature, Tree

MOST_LISTED = 12


def rename_columns(model: Model, names: Mapping[str, str]) -> Model:
    """Return the model with other names for features: ``names`` holds the new one by the old one.

    All are renamed at once, so that two may change places. Nothing else of the model changes: it sends each record to
    the leaf that the file sends it to. What the file says in words (notes) keeps the file's own names.

    Raises:
        TreeFormatError: the model has no feature of a name, or two features, or one and the target, would share one.
    """
    own = [feature.name for feature in model.features]
    for name in names:
        if name not in own:
            problem = f"no feature {name!r}{near_text(name, own)}; map only its own features: {_listed(own)}"
            raise TreeFormatError(model.source, problem)
    features: dict[str, str] = {}
    for name in own:
        column = names.get(name, name)
        if column in features:
            problem = (
                f"the features {features[column]!r} and {name!r} would both be the column {column!r}; "
                "map each to its own column"
            )
            raise TreeFormatError(model.source, problem)
        if name in names and column == model.target:
            problem = (
                f"the feature {name!r} would be the target {column!r}; map it to another column"
            )
            raise TreeFormatError(model.source, problem)
        features[column] = name
    changed = {name: column for name, column in names.items() if name != column}
    return _Renaming(changed).rename_model(model) if changed else model


def known_names(model: Model, names: Mapping[str, str]) -> dict[str, str]:
    """Return those names that are of features of a model; one of several releases may have fewer than the last."""
    own = {feature.name for feature in model.features}
    return {name: column for name, column in names.items() if name in own}


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:MOST_LISTED]))
    more = len(names) - MOST_LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


class _Renaming:
    """Renames one model; what its trees share stays shared."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self._features: dict[int, tuple[tuple[Feature, ...], tuple[Feature, ...]]] = {}

    def rename_model(self, model: Model) -> Model:
        """Return the model with the new names."""
        features = self._renamed_features(model.features)
        if isinstance(model, Tree):
            return replace(model, features=features, nodes=self._nodes(model.nodes))
        members = tuple(
            replace(
                member,
                model=self.rename_model(member.model)
                if isinstance(member.model, Tree | Ensemble)
                else member.model,
                test=self._test(member.test),
            )
            for member in model.members
        )
        return replace(model, features=features, members=members)

    def _renamed_features(self, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
        known = self._features.get(id(features))
        if known is None:
            renamed = tuple(
                replace(feature, name=self.names.get(feature.name, feature.name))
                for feature in features
            )
            # The old ones are kept too: an id is of one object only as long as that lives.
            known = self._features[id(features)] = (features, renamed)
        return known[1]

    def _nodes(self, nodes: Sequence[Node]) -> Sequence[Node]:
        if not isinstance(nodes, NodeTable):
            return tuple(self._node(node) for node in nodes)
        if not isinstance(nodes.tests, Cuts):
            return replace(nodes, tests=[self._test(test) for test in nodes.tests])
        cuts = nodes.tests
        others = {place: self._test(test) for place, test in cuts.others.items()}
        names = tuple(self.names.get(name, name) for name in cuts.names)
        return replace(nodes, tests=replace(cuts, names=names, others=others))

    def _node(self, node: Node) -> Node:
        figures = node.figures
        if figures.other_splits:
            splits = tuple(self._split(split) for split in figures.other_splits)
            figures = replace(figures, other_splits=splits)
        return replace(node, test=self._test(node.test), figures=figures)

    def _split(self, split: OtherSplit) -> OtherSplit:
        return replace(split, left=self._test(split.left), right=self._test(split.right))

    def _test(self, test: Predicate) -> Predicate:
        if isinstance(test, Always | Never | Unknown):
            return test
        if isinstance(test, AllOf | AnyOf | OneOf | Surrogate):
            return replace(test, parts=tuple(self._test(part) for part in test.parts))
        if isinstance(test, Refusal):
            return replace(test, when=self._test(test.when))
        return replace(test, feature=self.names.get(test.feature, test.feature))
