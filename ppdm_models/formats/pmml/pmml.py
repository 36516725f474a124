"""PMML, the Data Mining Group's XML: trees and ensembles of versions 3 and 4 (read), single trees of 4.4 (written)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast
from xml.parsers import expat

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened, Rewritable, Strippable, Writer
from treewarden.ppdm_models.formats.common.origin import is_maker, is_moment
from treewarden.ppdm_models.formats.common.xml import parse
from treewarden.ppdm_models.formats.common.xml_edit import Edit, ElementSpan, XmlDocument
from treewarden.ppdm_models.formats.common.xml_elements import Element, ParserListener
from treewarden.ppdm_models.formats.pmml._declared import Dictionary
from treewarden.ppdm_models.formats.pmml._known_elements import beyond_trees
from treewarden.ppdm_models.formats.pmml._statistics import (
    FoundLeak,
    loose_tables,
    of_field,
    of_partition,
    of_quality,
    of_scaling,
    of_schema_field,
    of_statistics,
    of_table,
    of_targets,
    of_verification,
    relations,
    removed,
    where_of,
    without_attributes,
)
from treewarden.ppdm_models.formats.pmml._tree import read_tree_model
from treewarden.ppdm_models.formats.pmml._unread import UnreadFinder, unread
from treewarden.ppdm_models.formats.pmml._values import Failure
from treewarden.ppdm_models.tree.ensemble import Model, NonTreeModel, with_trees
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
    """The bytes stay, not their elements: one pass reads the model, and finds the leaks.

    The reader holds the elements of one model at a time (at its peak 95 MB for a tree of 100,000 nodes), the finder
    those around the nodes (1 MB). All elements with their places, which a rewriting needs, take 1.4 GB for 1,000,000
    nodes: they are found again for each, and let go before the next audit.
    """

    def __init__(self, data: bytes, source: str) -> None:
        model, leaks = _open(data, source)
        super().__init__(model)
        self.data, self.source, self._found = data, source, leaks

    @cached_property
    def leaks(self) -> tuple[Leak, ...]:
        if self._found is not None:
            return self._found
        return _leaks_of(XmlDocument(self.data, self.source, whole=False))

    def beyond_trees(self) -> tuple[str, ...]:
        return tuple(beyond_trees(parse(self.data, self.source, lambda *_: None)))

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
            self.source,
            "cannot be changed in place without further changes; write the tree as a new file",
        )


def _open(data: bytes, source: str) -> tuple[Model, tuple[Leak, ...] | None]:
    """Return the model and the leaks of a file; None where they are found by a pass of their own.

    That is so for characters of two bytes each, and where looking for leaks fails: no model is refused for that, and
    none is read.
    """
    try:
        listener = _LeakListener(data)
        model = _read(data, source, listener)
        return model, _leaks_of(listener.document, listener.finder.leaks())
    except TreeFormatError as error:
        if not isinstance(error.__cause__, (LookupError, ValueError)):
            raise
    except (ArithmeticError, AssertionError, LookupError, ValueError):
        pass
    return _read(data, source), None


def _read(data: bytes, source: str, listener: ParserListener | None = None) -> Model:
    reader = _ModelReader(source)
    root = parse(data, source, reader.finished, listener)
    if root.name not in ROOTS:
        name = root.name.removeprefix(":")
        raise TreeFormatError(f"{source}:{root.line}", f"not PMML: the root element is {name!r}")
    return reader.model(root, any(word in data for word in TREES))


class _LeakListener(ParserListener):
    """Finds leaks in what the parser meets while the model is read; raises ``ValueError`` for wide characters."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data

    def attach(self, parser: expat.XMLParserType) -> None:
        self.document = XmlDocument.begun(self.data, parser)
        self.spans = self.document.finder
        self.finder = UnreadFinder(self.document, parser)
        self.around, self.prefixes = self.finder.around, self.finder.prefixes
        parser.XmlDeclHandler, parser.CommentHandler = self.spans.declared, self.comment

    def comment(self, text: str) -> None:
        self.spans.comment(text)
        self.finder.close_text()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.spans.start(name, attributes)
        self.finder.start(name, attributes)

    def end(self, name: str) -> None:
        self.spans.end(name)
        self.finder.end(name)

    def text_piece(self, text: str) -> None:
        self.finder.words(text)

    def whole_text(self, text: str) -> None:
        self.spans.words(text)

    def leave_nodes(self, names: Sequence[str]) -> None:
        self.spans.leave_nodes(names)

    def end_in_nodes(self, name: str) -> None:
        self.finder.end(name)

    def start_in_nodes(self, name: str, attributes: dict[str, str]) -> None:
        if attributes.get("booleanOperator") == "surrogate":
            self.spans.note_surrogate(attributes)
        self.finder.start(name, attributes)

    def is_plain(self, name: str) -> bool:
        return name in self.finder.plain and not self.finder.hidden

    def settle(self, local: str, attributes: dict[str, str], line: int) -> bool:
        if self.finder.is_misplaced(local) or not self.finder.has_settings(local, attributes):
            return False
        self.finder.use_part(local, attributes, line)
        return True


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
        self.parts: dict[Element, Model | NonTreeModel] = {}
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
            self.parts[element] = NonTreeModel(
                element.name, element.get("modelName") or "", element.line
            )
        element.children = [child for child in element.children if child.name in KEPT]

    def model(self, root: Element, is_written: bool) -> Model:
        """Return the model of the whole file; ``is_written`` says that trees stand in it, be it in comments.

        Raises:
            TreeFormatError: it contains no tree.
        """
        late = root.first("DataDictionary")
        is_told = late is not None and late.first("DataField") is not None
        if late is not None and is_told and self.dictionary and not self.dictionary.fields:
            problem = "the DataDictionary comes after a model that uses its fields"
            raise TreeFormatError(f"{self.source}:{late.line}", f"{problem}; export the file again")
        whole = [self.parts[part] for part in (root, *root.children) if part in self.parts]
        found = [part for part in whole if not isinstance(part, NonTreeModel)]
        if not found:
            kinds = ", ".join(
                sorted({part.kind for part in whole if isinstance(part, NonTreeModel)})
            )
            found_kinds = f" (found {kinds})" if kinds else ""
            commented = "; those in its comments are not part of the model" if is_written else ""
            raise TreeFormatError(
                self.source,
                f"this PMML file contains no tree model{found_kinds}{commented}; give a file with a decision tree, "
                "a forest or a boosted model",
            )
        if len(whole) == 1:
            return found[0]
        from treewarden.ppdm_models.formats.pmml._mining import several  # as it says

        return several(root, self.parts, self.source)

    def _count(self, tree: Tree) -> None:
        self.nodes += len(tree.nodes)
        self.trees += 1
        if self.nodes > limits.FILE_NODES:
            raise TreeFormatError(
                self.source,
                f"more than {limits.FILE_NODES:,} nodes, which is the limit; train a smaller model",
            )
        if self.trees > limits.TREES:
            raise TreeFormatError(
                self.source,
                f"more than {limits.TREES:,} trees, which is the limit; train a "
                "model with fewer trees",
            )


FORMAT = Pmml()


# Side channels of a PMML file, and how each is taken out.

MARKUP = re.compile(
    r"<\s*/?(\w+:)?(Node|TreeModel|Segment|Segmentation|MiningModel|ScoreDistribution|SimplePredicate|row)\b"
)
MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
PATH = re.compile(
    r"(?<![\w/:])(/(home|Users|root|mnt|data|srv|var|tmp|opt)/\S+|[A-Za-z]:\\\S+|\\\\\w+\\\S+|file:/\S+)"
)
HEX_ID = re.compile(
    r"\b([0-9a-f]{16,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"
)
SEED = re.compile(rb"\b(random_state|random_seed|seed)\s*=\s*[0-9]+")
USERS = ("user", "author", "creator", "username")


def find(
    document: XmlDocument, unknown: Iterable[tuple[int, FoundLeak]] | None = None
) -> list[FoundLeak]:
    """Return what a file gives away, in its order; ``unknown`` is what is no part of the model, if that was sought."""
    found = [(item.start, leak) for item, leak in _find_leaks(document)]
    found += unread(document) if unknown is None else unknown
    return [leak for _, leak in sorted(found, key=lambda pair: pair[0])]


def _leaks_of(
    document: XmlDocument, unknown: Iterable[tuple[int, FoundLeak]] | None = None
) -> tuple[Leak, ...]:
    return tuple(found_leak.leak for found_leak in find(document, unknown))


def _find_leaks(document: XmlDocument) -> Iterator[tuple[ElementSpan, FoundLeak]]:
    for comment in document.comments:
        yield comment, _comment(document, comment)
    finders = {
        "Header": _header,
        "MiningBuildTask": _task,
        "DataField": of_field,
        "ModelStats": of_statistics,
        "Targets": of_targets,
        "PredictiveModelQuality": of_quality,
        "ModelVerification": of_verification,
        "MiningField": of_schema_field,
        "MultivariateStats": relations,
        "Correlations": relations,
        "NormContinuous": of_scaling,
        "Partition": of_partition,
    }
    surrogates: list[ElementSpan] = []
    for span in document.root.within():
        if span.name in finders:
            for found_leak in finders[span.name](document, span):
                yield span, found_leak
        if span.attributes.get("booleanOperator") == "surrogate":
            surrogates.append(span)
    for table, is_aside in loose_tables(document.root):
        yield table, of_table(document, table, is_aside)
    if surrogates:
        what = (
            f"{len(surrogates)} tests name surrogate splits: more attributes than the tree needs "
            "(rpart trains without them with maxsurrogate = 0)"
        )
        yield surrogates[0], FoundLeak(Leak(LeakKind.DIFFERENCING, where_of(surrogates[0]), what))


def _comment(document: XmlDocument, comment: ElementSpan) -> FoundLeak:
    text = comment.text
    if MARKUP.search(text):
        nodes = len(re.findall(r"<\s*(?:\w+:)?Node\b", text))
        what = (
            f"a comment holds {nodes} nodes of another tree"
            if nodes
            else "a comment holds a part of a model"
        )
        return removed(document, LeakKind.OLD_MODEL, comment, what)
    kind = LeakKind.PERSON if MAIL.search(text) else LeakKind.UNKNOWN
    words = f"a comment of {len(text)} characters: read it"
    return removed(document, kind, comment, words)


def _header(document: XmlDocument, header: ElementSpan) -> Iterator[FoundLeak]:
    if header.attributes.get("copyright"):
        edit = document.attribute(header, "copyright", "")
        assert edit is not None
        kind, what = LeakKind.AUTHOR, "the copyright names the author"
        if not is_maker(header.attributes["copyright"]):
            kind, what = (
                LeakKind.UNKNOWN,
                "the copyright contains more than a year and a name: read it",
            )
        yield FoundLeak(Leak(kind, where_of(header), what, None, True), (edit,))
    description = header.attributes.get("description") or ""
    if HEX_ID.search(description):
        what = "the description contains an identifier"
        yield without_attributes(document, LeakKind.IDENTIFIER, header, ("description",), what)
    for item in header.within():
        if item.name == "Timestamp":
            kind, what = LeakKind.TIMESTAMP, "when the model was made"
            if not is_moment(item.text):
                kind, what = LeakKind.UNKNOWN, "a Timestamp that is not a date: read it"
            yield removed(document, kind, item, what)
        elif item.name == "Annotation":
            yield removed(document, LeakKind.UNKNOWN, item, "a note that a person wrote: check it")
        elif item.name == "Extension" and (item.attributes.get("name") or "").lower() in USERS:
            yield removed(document, LeakKind.AUTHOR, item, "the name of the user who made it")
        else:
            yield from _places(document, item, LeakKind.AUTHOR)


def _places(document: XmlDocument, item: ElementSpan, mail_kind: LeakKind) -> Iterator[FoundLeak]:
    """Yield attributes that hold a mail address, of ``mail_kind``, or a path of somebody's machine."""
    for name, value in item.attributes.items():
        for kind, pattern, what in (
            (mail_kind, MAIL, "a mail address"),
            (LeakKind.PATH, PATH, "a path on the machine where it was made"),
        ):
            found = pattern.search(value)
            if found and not (item.name == "Header" and name == "copyright"):
                edit = document.attribute(item, name, pattern.sub("", value))
                said = f"{name} of {item.name} contains {what}"
                leak = Leak(kind, where_of(item), said, None, True)
                yield FoundLeak(leak, () if edit is None else (edit,))
                break


def _task(document: XmlDocument, task: ElementSpan) -> Iterator[FoundLeak]:
    for item in task.within():
        yield from _places(document, item, LeakKind.PERSON)
        if PATH.search(item.text):
            what = "a path on the machine where it was made"
            yield removed(document, LeakKind.PATH, item, what)
    edits = []
    for seed in SEED.finditer(document.data, task.start, task.end):
        edits.append(Edit(seed.start(), seed.end(), seed[1] + b"=None"))
    if edits:
        what = "the random seed: anyone with the data can repeat the training"
        yield FoundLeak(Leak(LeakKind.REPLAY, where_of(task), what, None, True), tuple(edits))
