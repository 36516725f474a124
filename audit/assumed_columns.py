"""Columns that a model tests and that the adversary was assumed to know: nobody judged what the model tells of them.

That somebody knows all of them is the premise of an audit, so that a verdict says nothing of an adversary who lacks one
of them and learns it from the model. Of some columns the sizes of nodes prove the value; those are named apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treewarden.audit.partial.attributes.size_inference import SizeInference, infer_from_sizes
from treewarden.audit.result import Audit, Exposure
from treewarden.ppdm_models.tree.paths import path_text
from treewarden.ppdm_models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class ProvedColumn:
    """A column that node sizes prove of some people to an adversary who knows the other tested columns.

    ``release`` names its model. ``node`` is the name of the node that proves it of most people at once, ``path`` the
    way there, in the tree of that number, from 0; ``people_of_node`` are proved there. ``is_of_several`` says that the
    model has several trees.
    """

    column: str
    people: float
    release: str
    tree: int
    node: str
    path: str
    people_of_node: float
    is_of_several: bool


@dataclass(frozen=True, slots=True)
class AssumedColumns:
    """The tested columns that were assumed known, tree by tree, and what sizes of nodes prove of them.

    ``incomplete`` says why sizes may prove more than was found, one reason a release; nothing where all was looked at.
    """

    names: tuple[str, ...] = ()
    proved: tuple[ProvedColumn, ...] = ()
    incomplete: tuple[str, ...] = ()


def assumed_columns(audit: Audit) -> AssumedColumns:
    """Return the tested columns that an audit took as known, those of all its releases."""
    secret = audit.secret
    names, proved, incomplete = dict[str, None](), list[ProvedColumn](), list[str]()
    releases = list(_releases(audit))
    for exposure in releases:
        evidence = exposure.evidence
        own = names_of_tested(evidence.trees, but=secret)
        names.update(dict.fromkeys(own))
        size_inference = (
            infer_from_sizes(evidence.forest, evidence.population, own) if own else None
        )
        if size_inference is not None:
            proved += _in_words(exposure, size_inference)
            said = size_inference.incomplete
            release = f"{evidence.source}: " if len(releases) > 1 else ""
            incomplete += [f"{release}{said}"] if said else []
    return AssumedColumns(tuple(names), tuple(proved), tuple(incomplete))


def names_of_tested(trees: tuple[Tree, ...], but: str = "") -> tuple[str, ...]:
    """Return the columns that some split of some tree tests, all ``but`` one."""
    found = dict.fromkeys(feature.name for tree in trees for feature in tree.used_features())
    return tuple(name for name in found if name != but)


def _releases(audit: Audit) -> Iterator[Exposure]:
    """Yield an exposure of each model that was audited, the last release first."""
    seen = set[int]()
    for exposure in audit.exposures:
        model = exposure.evidence.model
        is_told = exposure.is_of_adversary or exposure.under or exposure.is_alone
        if not is_told and id(model) not in seen:
            seen.add(id(model))
            yield exposure


def _in_words(exposure: Exposure, found: SizeInference) -> Iterator[ProvedColumn]:
    evidence = exposure.evidence
    for proof in found.proofs:
        tree = evidence.trees[proof.tree]
        yield ProvedColumn(
            column=proof.column,
            people=proof.people,
            release=evidence.source,
            tree=proof.tree,
            node=tree.nodes[proof.node].name,
            path=path_text(tree, proof.node),
            people_of_node=proof.people_of_node,
            is_of_several=len(evidence.trees) > 1,
        )
