"""Parses XML that nobody vouches for: no entities, no DTD, no network, bounded depth and size, one pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate, compress
from xml.parsers import expat

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.xml_elements import (
    COMPOUND,
    NODE,
    RECORDED,
    TREES,
    Element,
    ParserListener,
    PlainTag,
    Recorded,
    is_model,
    local_name,
    plain_tag,
)

MOST_TEXT, MOST_PIECES = 1_000_000, 50_000
"""So many characters, in so many pieces, of a text are kept before they are joined to it."""
MOST_SEEN = 10_000
"""So many attributes of elements of one name are remembered while a tree is read."""
MOST_BLANK = 300
BLOCK = 1 << 20
"""So many bytes of plain nodes are split at once."""
NODE_TAG = b"<Node"
TREE_END = re.compile(rb"</(?:TreeModel|DecisionTree)")
DECLARED = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)")
LIKE_ASCII = re.compile(rb"us-ascii|iso-8859-\d{1,2}|windows-125\d", re.IGNORECASE)
HANDLERS = (
    *("StartElementHandler", "EndElementHandler", "CharacterDataHandler", "CommentHandler"),
    *("ProcessingInstructionHandler", "StartDoctypeDeclHandler", "EndDoctypeDeclHandler"),
    *("StartNamespaceDeclHandler", "XmlDeclHandler", "EntityDeclHandler"),
)

Finished = Callable[[Element, Sequence[Element]], None]
"""Told of a model's element when it ends, with the elements around it, outermost first."""


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
    run(builder.parser, data, source, builder.feed)
    return builder.top.children[0]


def run(
    parser: expat.XMLParserType,
    data: bytes,
    source: str,
    feed: Callable[[bytes], None] | None = None,
) -> None:
    """Let a parser loose on bytes, all at once or as ``feed`` gives it them.

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
        if feed is None:
            parser.Parse(data, True)
        else:
            feed(data)
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


def _plain_encoding(data: bytes) -> str | None:
    """Return what plain tags may be decoded by; None where bytes may mean anything else, or say more than they do."""
    declared = DECLARED.match(data)
    if b"<!DOCTYPE" in data:
        return None
    if declared is None or declared[1].lower() == b"utf-8":
        return "utf-8"
    return "ascii" if LIKE_ASCII.fullmatch(declared[1]) else None


def _line_ends(data: bytes) -> int:
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


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
        self.recorder: _Recorder | None = None
        self.parser = expat.ParserCreate(namespace_separator=" ")
        listener.attach(self.parser)
        self.listen()

    def listen(self) -> None:
        """Be the one whom the parser tells of elements and text."""
        parser = self.parser
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.hear

    def feed(self, data: bytes) -> None:
        """Give the parser all bytes; those of plain nodes are split into tags here, and the parser only checks them."""
        view, at, encoding = memoryview(data), 0, _plain_encoding(data)
        start = -1 if encoding is None else data.find(NODE_TAG)
        while start >= 0 and encoding is not None:
            body, end = data.find(b"<", start + 1), TREE_END.search(data, start)
            if body < 0 or end is None:
                break
            self.parser.Parse(view[at:start], False)
            self.parser.Parse(view[start:body], False)
            at = body
            if self.recorder is not None and self.recorder.start_byte == start:
                at = self.recorder.take_plain(data, body, end.start(), encoding)
            start = data.find(NODE_TAG, end.start())
        self.parser.Parse(view[at:], True)

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
            self.recorder = _Recorder(self, element, name)
            self.recorder.listen()

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

    def __init__(self, builder: _Builder, root: Recorded, name: str) -> None:
        assert root.tape is not None
        self.name, self.start_byte = name, builder.parser.CurrentByteIndex
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
            said, line = (*attributes, *attributes.values()), parser.CurrentLineNumber
            known = seen.get(said)
            if known is None:
                if not listener.settle(local, attributes, line):
                    self.start(name, attributes)
                    return
                known = attributes
                if code != NODE and len(seen) < MOST_SEEN:
                    seen[said] = attributes
            add(code)
            add_attributes(known)
            add_line(line)
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

    def take_plain(self, data: bytes, at: int, end: int, encoding: str) -> int:
        """Take tags from a byte on, as long as they are plain; return where the first stands that is not."""
        is_quick = self.close_outside > self.builder.deepest
        is_plain = is_quick and self.learn(self.name) is not None
        if not is_plain:
            return at
        line = self.tape.lines[0] + _line_ends(data[self.start_byte : at])
        parser, view, tag_of_text = self.parser, memoryview(data), dict[str, PlainTag]()
        parser.StartElementHandler = parser.EndElementHandler = parser.CharacterDataHandler = None
        while is_plain and at < end:
            stop = end if end - at <= BLOCK else data.rfind(b"<", at, at + BLOCK)
            try:
                texts = str(view[at + 1 : stop], encoding).split("<")
            except UnicodeDecodeError:
                break
            taken, line = self.take_tags(texts, tag_of_text, line)
            if taken < len(texts):
                is_plain = False
                stop = at + len("<".join(["", *texts[:taken]]).encode(encoding))
            parser.Parse(view[at:stop], False)
            at = stop
            if len(tag_of_text) > MOST_SEEN:
                tag_of_text.clear()
        self.listen()
        return at

    def take_tags(
        self, texts: Sequence[str], tag_of_text: dict[str, PlainTag], line: int
    ) -> tuple[int, int]:
        """Put tags on the tape up to the first that is not plain, nests too deep, is one too many or ends the root.

        Returns how many there are, and the line behind them.
        """
        first: list[int] = []
        size = len(texts)
        for place in [place for place, text in enumerate(texts) if text not in tag_of_text]:
            text = texts[place]
            if text not in tag_of_text:
                tag = plain_tag(text)
                if tag is None:
                    size = place
                    break
                tag_of_text[text] = tag
                first.append(place)
        if not size:
            return 0, line
        tags = map(tag_of_text.__getitem__, texts[:size])
        events, attributes, is_start, levels, counts, ends, names = zip(*tags, strict=True)
        size = self.within_limits(levels, counts)
        lines = list(accumulate(ends, initial=line))
        for place in first:
            if place >= size:
                break
            name = names[place]
            if name and not self.listener.settle(name, attributes[place], lines[place]):
                size = place
        is_start, levels = is_start[:size], levels[:size]
        self.tape.events.frombytes(b"".join(events[:size]))
        self.tape.attributes.extend(compress(attributes, is_start))
        self.tape.lines.extend(compress(lines, is_start))
        open_nodes = len(self.around) + sum(levels)
        self.around += ["Node"] * sum(levels)
        del self.around[open_nodes:]
        self.builder.held += sum(counts[:size])
        return size, lines[size]

    def within_limits(self, levels: Sequence[int], counts: Sequence[int]) -> int:
        """Return how many tags stand before the end of the root; none where they are too many or nest too deep."""
        depths = list(accumulate(levels))
        deepest = len(self.around) + 1 + max(depths)
        if deepest > self.builder.deepest or self.builder.held + sum(counts) > limits.XML_ELEMENTS:
            return 0
        most = self.outside + 1 - len(self.around)
        if min(depths) >= most:
            return len(depths)
        return next(place for place, depth in enumerate(depths) if depth < most)

    def text(self, text: str) -> None:
        """Hear text that is not blank, which no node has."""
        self.listen_closely(len(self.around) - 1)
        self.listener.text_piece(text)

    def leave(self) -> None:
        """Leave the rest of the tree to the builder."""
        self.listener.leave_nodes(self.around[self.outside + 1 :])
        self.builder.around += self.root.play()
        self.builder.listen()
        self.builder.recorder = None
        del self.handlers  # they hold this record, which holds the tape

    def finish(self, name: str) -> None:
        """Leave the root that ends."""
        self.tape.events.append(~NODE)
        self.builder.listen()
        self.builder.recorder = None
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
