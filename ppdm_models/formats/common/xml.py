"""Parses XML that nobody vouches for: no entities, no DTD, no network, bounded depth and size, one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from xml.parsers import expat

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.xml_elements import (
    COMPOUND,
    NODE,
    RECORDED,
    TREES,
    Element,
    Recorded,
    is_model,
    local_name,
)

MOST_TEXT, MOST_PIECES = 1_000_000, 50_000
"""So many characters, in so many pieces, of a text are kept before they are joined to it."""
MOST_SEEN = 10_000
"""So many attributes of elements of one name are remembered while a tree is read."""
MOST_BLANK = 300
HANDLERS = (
    *("StartElementHandler", "EndElementHandler", "CharacterDataHandler", "CommentHandler"),
    *("ProcessingInstructionHandler", "StartDoctypeDeclHandler", "EndDoctypeDeclHandler"),
    *("StartNamespaceDeclHandler", "XmlDeclHandler", "EntityDeclHandler"),
)

Finished = Callable[[Element, Sequence[Element]], None]
"""Told of a model's element when it ends, with the elements around it, outermost first."""


class ParserListener:
    """Hears what the parser meets beside the builder of elements, in the same order; this one notes nothing.

    ``around`` are the names of the open elements without their namespaces, behind "" for what is around the root;
    ``prefixes`` are not empty where the next element is to be heard whatever it is.
    """

    def __init__(self) -> None:
        self.around = [""]
        self.prefixes: list[str] = []

    def attach(self, parser: expat.XMLParserType) -> None:
        """Ask a parser for what else is to be heard."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Hear that an element starts; its name is ``namespace name``."""
        self.around.append(name.rpartition(" ")[2])

    def end(self, name: str) -> None:
        """Hear that it ends."""
        self.around.pop()

    def text_piece(self, text: str) -> None:
        """Hear a piece of text that is not blank, where it stands."""

    def whole_text(self, text: str) -> None:
        """Hear the text up to the next element that starts or ends."""

    def start_in_nodes(self, name: str, attributes: dict[str, str]) -> None:
        """Hear that an element starts that goes on a tape."""
        self.start(name, attributes)

    def end_in_nodes(self, name: str) -> None:
        """Hear that it ends."""
        self.end(name)

    def is_plain(self, name: str) -> bool:
        """Whether elements of this name in a node may be looked at by ``is_settled``; then none hears of their end."""
        return True

    def is_settled(self, name: str, attributes: dict[str, str]) -> bool | None:
        """Look at an element of a node; return whether all that say the same need no look, None to hear its start."""
        return True

    def leave_nodes(self, names: Sequence[str]) -> None:
        """Hear that elements of these names are open that went on a tape, and what follows does not."""


def parse(
    data: bytes, source: str, finished: Finished, listener: ParserListener | None = None
) -> Element:
    """Return the root element; ``finished`` is told of each model, and may take its children off to save memory.

    A document type is allowed and never fetched, nor is an entity ever put in. A ``listener`` hears all from the same
    parser.

    Raises:
        TreeFormatError: not well-formed XML, has an entity that is used or lies elsewhere, or nests or holds more
            than the limits allow.
    """
    builder = _Builder(source, finished, listener or ParserListener())
    for start in range(0, len(data), limits.XML_TOKEN):
        end = start + limits.XML_TOKEN
        if end < len(data) and data.find(b">", start, end) < 0:
            raise TreeFormatError(
                source,
                f"the file has {limits.XML_TOKEN:,} bytes without a tag, which no tree needs; export it again",
            )
    run(builder.parser, data, source)
    return builder.top.children[0]


def run(parser: expat.XMLParserType, data: bytes, source: str) -> None:
    """Let a parser loose on bytes.

    Raises:
        TreeFormatError: not well-formed XML, or has an entity that is used, of parameters, or outside the file.
    """

    def refuse_entity(name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        # An entity of the file's own that is never used does no harm, and old tools declare some.
        if is_parameter or value is None or _may_be_used(name, data):
            raise TreeFormatError(
                f"{source}:{parser.CurrentLineNumber}",
                f"rejected for security: the file declares an XML entity ({name!r}); remove the declaration",
            )

    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise TreeFormatError(
            f"{source}:{error.lineno}",
            f"the file is incomplete or damaged (not valid XML: {expat.errors.messages[error.code]}); export it again",
        ) from error
    except (LookupError, ValueError) as error:
        raise TreeFormatError(
            source, f"the file is damaged (not valid XML: {error}); export it again"
        ) from error
    finally:
        for handler in HANDLERS:  # what they hold would stay until garbage is collected
            setattr(parser, handler, None)


def _may_be_used(entity: str, data: bytes) -> bool:
    """Whether bytes may refer to an entity; said of all that are not plainly ASCII."""
    is_plain = b"\x00" not in data[:64] and entity.isascii()
    return not is_plain or f"&{entity};".encode() in data


class _Builder:
    """Builds elements from what the parser meets."""

    def __init__(self, source: str, finished: Finished, listener: ParserListener) -> None:
        self.source = source
        self.finished = finished
        self.listener = listener
        self.top = Element("", {}, 0)
        self.around = [self.top]
        self.names: dict[str, tuple[str, bool, int]] = {}
        self.deepest = limits.XML_DEPTH + 1
        self.held = 0
        self.hears = False
        self.held_before: list[int] = []
        self.pieces: list[str] = []
        self.length = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        listener.attach(self.parser)
        self.listen()

    def listen(self) -> None:
        """Be the one whom the parser tells of elements and text."""
        parser = self.parser
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.hear

    def start(self, name: str, attributes: dict[str, str]) -> None:
        around = self.around
        if self.pieces:
            self.add_text()
        known = self.names.get(name) or self.learn_name(name)
        outer = around[-1]
        is_root = known[0] == "Node" and outer.name in TREES
        line = self.parser.CurrentLineNumber
        element = Recorded(attributes, line) if is_root else Element(known[0], attributes, line)
        if outer.children:
            outer.children.append(element)
        else:
            outer.children = [element]
        around.append(element)
        if known[1]:
            self.held_before.append(self.held)
        self.hears = known[2] < 0
        self.hold(len(around), attributes)
        self.listener.start(name, attributes)
        if isinstance(element, Recorded):
            _Recorder(self, element).listen()

    def hold(self, depth: int, attributes: dict[str, str]) -> None:
        """Count an element that is held.

        Raises:
            TreeFormatError: it lies deeper than is allowed, or is one too many.
        """
        self.held += 1 + len(attributes)
        if depth > self.deepest:
            raise TreeFormatError(
                f"{self.source}:{self.parser.CurrentLineNumber}",
                f"elements nest more than {limits.XML_DEPTH} deep, as no real tree does; export it again",
            )
        if self.held > limits.XML_ELEMENTS:
            raise TreeFormatError(
                self.source,
                f"more than {limits.XML_ELEMENTS:,} XML elements and attributes in or around one tree; give the "
                "tree alone",
            )

    def learn_name(self, name: str) -> tuple[str, bool, int]:
        """Return an element's local name, whether it holds a model, and its code on a tape (-1: it has none)."""
        local = local_name(name)
        code = RECORDED.index(local) if local in RECORDED else -1
        found = self.names[name] = local, is_model(local), code
        return found

    def hear(self, text: str) -> None:
        """Keep a piece of text: each line, and each character that is written as a reference, is one."""
        if not text.isspace():
            self.listener.text_piece(text)
        self.pieces.append(text)
        self.length += len(text)
        if self.length > MOST_TEXT or len(self.pieces) > MOST_PIECES:
            self.add_text()

    def add_text(self) -> None:
        """Give the element the text that was heard."""
        element, text = self.around[-1], "".join(self.pieces)
        self.pieces.clear()
        self.length = 0
        self.listener.whole_text(text)
        if not self.hears:
            return
        element.text += text
        if len(element.text) > limits.XML_TOKEN:
            raise TreeFormatError(
                f"{self.source}:{element.line}",
                f"more than {limits.XML_TOKEN:,} characters of text in one element; export it again",
            )

    def end(self, name: str) -> None:
        if self.pieces:
            self.add_text()
        element = self.around.pop()
        self.listener.end(name)
        if self.names[name][1]:
            self.finished(element, self.around[1:])
            kept = sum(1 + len(inner.attributes) for inner in element.within())
            self.held = self.held_before.pop() + kept


_Kind = tuple[int, str, dict[tuple[str, ...], dict[str, str]]]
"""Of elements of one name: their code, the name without namespace, and the attributes met, by what they say."""
_Handlers = tuple[
    Callable[[str, dict[str, str]], None], Callable[[str], None], Callable[[str], None]
]


class _Recorder:
    """Puts what is inside a tree's root on its tape, until the root ends or something else than nodes comes.

    Elements of nodes that say what another said before are passed over quickly: the listener saw their like. All else,
    and what stands inside it, is told to the listener as it comes (``listen_closely``).
    """

    def __init__(self, builder: _Builder, root: Recorded) -> None:
        assert root.tape is not None
        self.builder, self.root, self.tape = builder, root, root.tape
        self.parser, self.listener = builder.parser, builder.listener
        self.around = self.listener.around
        self.outside = len(self.around) - 1
        self.quick: dict[str, _Kind] = {}
        """By name, the code of an element, its name without namespace, and the attributes that were seen."""
        self.ends: dict[str, int] = {}
        self.close_outside = builder.deepest + 1
        """How many elements are open when it is enough to listen quickly again."""
        self.handlers = self._quick_handlers()
        self.put(NODE, root.attributes)

    def put(self, code: int, attributes: dict[str, str]) -> None:
        self.tape.events.append(code)
        self.tape.attributes.append(attributes)
        self.tape.lines.append(self.parser.CurrentLineNumber)

    def listen(self) -> None:
        """Be the one whom the parser tells of elements and text."""
        parser = self.parser
        parser.StartElementHandler, parser.EndElementHandler, heard = self.handlers
        parser.CharacterDataHandler = heard
        self.close_outside = self.builder.deepest + 1

    def listen_closely(self, outside: int) -> None:
        """Tell the listener of all, until no more than so many elements are open."""
        self.parser.StartElementHandler, self.parser.EndElementHandler = self.start, self.end
        self.close_outside = min(self.close_outside, outside)

    def _quick_handlers(self) -> _Handlers:
        parser, builder, listener, around = self.parser, self.builder, self.listener, self.around
        add, add_attributes = self.tape.events.append, self.tape.attributes.append
        add_line, open_element, close_element = self.tape.lines.append, around.append, around.pop
        prefixes, quick, ends, innermost = (
            listener.prefixes,
            self.quick,
            self.ends,
            self.outside + 1,
        )
        deepest, most = builder.deepest, limits.XML_ELEMENTS

        def start(name: str, attributes: dict[str, str]) -> None:
            kind = quick.get(name) or self.learn(name)
            if kind is None or prefixes or around[-1] != "Node":
                self.start(name, attributes)
                return
            code, local, seen = kind
            said = (*attributes, *attributes.values())
            known = seen.get(said)
            if known is None:
                is_settled = listener.is_settled(name, attributes)
                if is_settled is None:
                    self.start(name, attributes)
                    return
                known = attributes
                if is_settled and len(seen) < MOST_SEEN:
                    seen[said] = attributes
            add(code)
            add_attributes(known)
            add_line(parser.CurrentLineNumber)
            open_element(local)
            builder.held += 1 + len(attributes)
            if len(around) > deepest or builder.held > most:
                builder.hold(len(around), {})

        def end(name: str) -> None:
            if len(around) == innermost:
                self.finish(name)
                return
            close_element()
            add(ends[name])

        return start, end, _BlankTexts(self.text).__getitem__

    def learn(self, name: str) -> _Kind | None:
        """Return what is to be known of the elements of a name to pass over them quickly; None where they are not."""
        local, _, code = self.builder.names.get(name) or self.builder.learn_name(name)
        self.ends[name] = ~code
        if code < 0 or code == COMPOUND or not self.listener.is_plain(name):
            return None
        found = self.quick[name] = code, local, {}
        return found

    def start(self, name: str, attributes: dict[str, str]) -> None:
        code = (self.builder.names.get(name) or self.builder.learn_name(name))[2]
        if code < 0:
            self.leave()
            self.builder.start(name, attributes)
            return
        self.listen_closely(len(self.around))
        self.put(code, attributes)
        self.listener.start_in_nodes(name, attributes)
        self.builder.hold(len(self.around), attributes)

    def end(self, name: str) -> None:
        if len(self.around) == self.outside + 1:
            self.finish(name)
            return
        self.tape.events.append(~self.builder.names[name][2])
        self.listener.end_in_nodes(name)
        if len(self.around) <= self.close_outside:
            self.listen()

    def text(self, text: str) -> None:
        """Hear text that is not blank, which no node has."""
        self.listen_closely(len(self.around) - 1)
        self.listener.text_piece(text)

    def leave(self) -> None:
        """Leave the rest of the tree to the builder."""
        self.listener.leave_nodes(self.around[self.outside + 1 :])
        self.builder.around += self.root.play()
        self.builder.listen()
        del self.handlers  # they hold this record, which holds the tape

    def finish(self, name: str) -> None:
        """Leave the root that ends."""
        self.tape.events.append(~NODE)
        self.builder.listen()
        self.builder.end(name)
        del self.handlers  # as above


class _BlankTexts(dict[str, None]):
    """Blank texts that were met; others are told of. A parser asks it without a call of Python for each."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self.tell = tell

    def __missing__(self, text: str) -> None:
        if not text.isspace():
            self.tell(text)
        elif len(self) < MOST_PIECES and len(text) < MOST_BLANK:
            self[text] = None
