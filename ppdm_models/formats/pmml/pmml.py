"""PMML, the Data Mining Group's XML: trees and ensembles of versions 3 and 4 (read), single trees of 4.4 (written)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened, Rewritable, Strippable, Writer
from treewarden.ppdm_models.formats.common.xml import Element, parse
from treewarden.ppdm_models.formats.common.xml_edit import XmlDocument
from treewarden.ppdm_models.formats.pmml._declared import Dictionary
from treewarden.ppdm_models.formats.pmml._leaks import find
from treewarden.ppdm_models.formats.pmml._tree import read_tree_model
from treewarden.ppdm_models.formats.pmml._values import Failure
from treewarden.ppdm_models.tree.ensemble import Model, Other, with_trees
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Learner, Quality, Tree

ROOTS = ("PMML", "TreeModel", "MiningModel", "Segment", "Segmentation")
TREES = (b"<TreeModel", b"<DecisionTree")
HOLDERS = ("PMML", "MiningModel", "AnomalyDetectionModel", "Segment", "Segmentation")
"""What models stand in that are evaluated."""
KEPT = ("Output", "ResultField", "RegressionTable")
"""What later parts of a chain need of a model that was read."""

MOST_TRIED = 40
"""Of so many kinds of places that nobody could judge each is tried alone, where the model needs some of them."""

MOST_ROUNDS = 5


class Pmml(Format, Writer):
    """TreeModels and MiningModels, as deep as they nest."""

    accounts_for_all = True
    rewrites = True

    def sniff(self, data: bytes) -> bool:
        looks_like_xml = data[:64].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0").startswith(b"<")
        return looks_like_xml and any(
            word.encode(code) in data
            for word in ("PMML", "TreeModel")
            for code in ("ascii", "utf-16-le", "utf-16-be")
        )

    def open(self, data: bytes, source: str) -> Opened:
        return _OpenedPmml(data, source)

    def write(self, model: Model) -> bytes:
        from treewarden.ppdm_models.formats.pmml._write import written, written_ensemble  # lxml

        return written(model) if isinstance(model, Tree) else written_ensemble(model)


class _OpenedPmml(Rewritable, Strippable):
    """The bytes stay, not their elements: one pass reads the model, another finds the leaks when they are asked for.

    The reader holds the elements of one model at a time (at its peak 95 MB for a tree of 100,000 nodes), the finder
    those around the nodes (1 MB). All elements with their places, which a rewriting needs, take 1.4 GB for 1,000,000
    nodes: they are found again for each, and let go before the next audit.
    """

    def __init__(self, data: bytes, source: str) -> None:
        super().__init__(_read(data, source))
        self.data, self.source = data, source

    @cached_property
    def leaks(self) -> tuple[Leak, ...]:
        return tuple(found_leak.leak for found_leak in find(self._outline()))

    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        data = self.data
        for _ in range(
            MOST_ROUNDS
        ):  # what asked for a field may be gone, and then the field is asked for no more
            changed = self._without(data, kinds)
            if changed == data:
                break
            data = changed
        return data

    def _without(self, data: bytes, kinds: frozenset[LeakKind]) -> bytes:
        document = XmlDocument(data, self.source, whole=False)
        found_leaks = [found_leak for found_leak in find(document) if found_leak.leak.kind in kinds]
        changed = document.edited([edit for found_leak in found_leaks for edit in found_leak.edits])
        original = _model_alone(_numbered(self.model))
        if _is_model(changed, self.source, original):
            return changed
        # What nobody could judge may turn out to be a part of the model: then it stays, and is still named.
        edits = [
            edit
            for found_leak in found_leaks
            if found_leak.leak.kind is not LeakKind.UNKNOWN
            for edit in found_leak.edits
        ]
        changed = document.edited(edits)
        if not _is_model(changed, self.source, original):
            raise OutputError(self.source, "what is to be removed is a part of the model")
        unknown = [
            found_leak
            for found_leak in found_leaks
            if found_leak.leak.kind is LeakKind.UNKNOWN and found_leak.edits
        ]
        for found in unknown[:MOST_TRIED]:
            tried = document.edited([*edits, *found.edits])
            if _is_model(tried, self.source, original):
                edits += found.edits
                changed = tried
        return changed

    def rewrite(self, changed: Model) -> bytes:
        from treewarden.ppdm_models.formats.pmml._rewrite import rewritten  # lxml

        document = XmlDocument(self.data, self.source, whole=True)
        for with_quality in (False, True):
            new = rewritten(document, self.model, changed, with_quality)
            if _read(new, self.source) == changed:
                return new
        raise OutputError(
            self.source, "cannot be changed so without changing more; write the tree as a new file"
        )

    def _outline(self) -> XmlDocument:
        return XmlDocument(self.data, self.source, whole=False)


def _read(data: bytes, source: str) -> Model:
    reader = _ModelReader(source)
    root = parse(data, source, reader.finished)
    if root.name not in ROOTS:
        name = root.name.removeprefix(":")
        raise TreeFormatError(f"{source}:{root.line}", f"no PMML: the root element is {name!r}")
    return reader.model(root, any(word in data for word in TREES))


def _is_model(data: bytes, source: str, model: Model) -> bool:
    """Return whether a file holds a model, whatever else it tells."""
    try:
        return _model_alone(_numbered(_read(data, source))) == model
    except TreeFormatError:
        return False


def _model_alone(model: Model) -> Model:
    """Return a model without what its file tells of how it was grown."""
    if isinstance(model, Tree):
        return replace(model, learner=Learner(), unused=(), quality=Quality.EXACT)
    model = replace(model, sampling=replace(model.sampling, resampled=None), shrinkage=None)
    return with_trees(model, (cast(Tree, _model_alone(tree)) for tree in model.trees))


def _numbered(model: Model) -> Model:
    """Return a model whose nodes are called by where they stand: what a file calls them is no part of it."""
    if isinstance(model, Tree):
        nodes = tuple(replace(node, name=str(node.index)) for node in model.nodes)
        return replace(model, nodes=nodes)
    return with_trees(model, (cast(Tree, _numbered(tree)) for tree in model.trees))


class _ModelReader:
    """Turns each model into its record as soon as its element ends, so that no more than one is held as XML."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.fail = Failure(source)
        self.parts: dict[Element, Model | Other] = {}
        self.dictionary: Dictionary | None = None
        self.nodes = 0
        self.trees = 0

    def finished(self, element: Element, around: Sequence[Element]) -> None:
        """Read the model that an element holds; one that stands where none is evaluated is not even looked at."""
        if any(outer.name not in HOLDERS for outer in around):
            return
        models = [outer for outer in around if outer.name not in ("Segmentation", "Segment")]
        if self.dictionary is None:
            self.dictionary = Dictionary(around[0] if around else element, self.fail)
        if element.name in ("TreeModel", "DecisionTree"):
            tree = read_tree_model(element, models, self.dictionary, self.source)
            self._count(tree)
            self.parts[element] = tree
        elif element.name in ("MiningModel", "AnomalyDetectionModel"):
            from treewarden.ppdm_models.formats.pmml._mining import read_mining_model  # of several

            self.parts[element] = read_mining_model(
                element, models, self.parts, self.dictionary, self.source
            )
            for inner in element.within():
                self.parts.pop(inner, None) if inner is not element else None
        else:
            self.parts[element] = Other(element.name, element.get("modelName") or "", element.line)
        element.children = [child for child in element.children if child.name in KEPT]

    def model(self, root: Element, is_written: bool) -> Model:
        """Return the model of the whole file; ``is_written`` says that trees stand in it, be it in comments.

        Raises:
            TreeFormatError: there is no tree in it.
        """
        late = root.first("DataDictionary")
        is_told = late is not None and late.first("DataField") is not None
        if late is not None and is_told and self.dictionary and not self.dictionary.fields:
            problem = "the DataDictionary stands behind a model whose fields it declares"
            raise TreeFormatError(f"{self.source}:{late.line}", f"{problem}; export the file again")
        whole = [self.parts[part] for part in (root, *root.children) if part in self.parts]
        found = [part for part in whole if not isinstance(part, Other)]
        if not found:
            kinds = ", ".join(sorted({part.kind for part in whole if isinstance(part, Other)}))
            found_kinds = f" (found {kinds})" if kinds else ""
            commented = "; those in its comments are no part of the model" if is_written else ""
            raise TreeFormatError(
                self.source,
                f"no tree in it: PMML without a tree model{found_kinds}{commented}; give a file that holds one",
            )
        if len(whole) == 1:
            return found[0]
        from treewarden.ppdm_models.formats.pmml._mining import several  # as it says

        return several(root, self.parts, self.source)

    def _count(self, tree: Tree) -> None:
        self.nodes += len(tree.nodes)
        self.trees += 1
        if self.nodes > limits.FILE_NODES:
            raise TreeFormatError(self.source, f"more than {limits.FILE_NODES:,} nodes")
        if self.trees > limits.TREES:
            raise TreeFormatError(self.source, f"more than {limits.TREES:,} trees")


FORMAT = Pmml()
