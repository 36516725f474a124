"""Small texts in model files, as programs write them: a moment, a maker, a program, a sign for no value.

Any other text in such a place may be a sentence about a person, and nobody could judge it. Model files that were packed
whole, ``model.json.gz``, are unpacked in memory within limits, and what the packing itself tells is reported.
"""

from __future__ import annotations

import bz2
import lzma
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Protocol

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

_DAY = r"(?:\d{4}(?:-\d\d?(?:-\d\d?)?)?|\d{4}/\d\d?/\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d{8})"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?"
_ZONE = r"(?: ?(?:Z|UTC|GMT|[ECMP][SD]T|CES?T|WES?T|EES?T|[JI]ST|BST|MSK))?(?: ?[-+]\d\d:?\d\d)?"
_TIME = rf"\d\d?:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?(?: ?[AaPp]\.?[Mm]\.?)?{_ZONE}"
_SHAPES = (
    rf"{_DAY}(?:(?:T|,? ){_TIME}|{_ZONE})",
    rf"{_WEEKDAY}{_MONTH} \d\d?,? \d{{4}}(?:,? (?:at )?{_TIME})?",
    rf"{_WEEKDAY}\d\d?[ -]{_MONTH},?[ -]\d{{4}}(?:,? {_TIME})?",
    rf"{_WEEKDAY}{_MONTH} +\d\d? {_TIME} \d{{4}}",
    r"\d{8}T?\d{4,6}Z?",
    r"\d{10}(?:\.\d{1,9})?|\d{13}",
)
MOMENT = re.compile("|".join(f"(?:{shape})" for shape in _SHAPES))
"""A date, with or without a time: as ISO 8601 writes it, RFC 2822, Java and C, in numbers, or in seconds."""
_YEARS = r"(?:,? ?\d{4}(?: ?[-,] ?\d{4})?,? ?)?"
_VENDORS = (
    r"TIBCO Software Inc\.|Software AG|Rapid-I GmbH|RapidMiner GmbH|KNIME(?:\.com)? (?:AG|GmbH)|IBM Corp\.?|SPSS Inc\."
    r"|SAS Institute Inc\.(?:, Cary, NC, USA\.)?|Integral Solutions Ltd\.|StatSoft,? Inc\.|Data Mining Group|DMG\.org"
)
_NAME = r"(?=[\w.@-]{1,40}(?:\s|\Z))[^\W\d_]\w*(?:[.@-]\w+){0,3}"
MAKER = re.compile(
    rf"(?:TIBCO Statistica, )?(?:Copyright ?)?(?:\([cC]\)|©)? ?(?:Copyright )?{_YEARS}"
    rf"(?:(?:{_VENDORS}){_YEARS}(?:\.? ?All [rR]ights [rR]eserved\.)?|(?:{_NAME}(?: {_NAME})?)?)"
)
"""Who made a file: a year, one name or two, or a vendor of data-mining programs."""
PROGRAMS = re.compile(
    r"SkLearn2PMML package|Sk[lL]earn2PMML|(?:JPMML|PyPMML|Drools|Nyoka|sklearn|Augustus|Zementis)[\w-]{0,24}"
    r"|Rattle/PMML|R PMML Generator - Package pmml|R-PMML|SAS(?:\(r\))?|SAS Enterprise Miner"
    r"|IBM SPSS (?:Modeler|Statistics)(?: Common)?|PASW (?:Modeler|Statistics)|SPSS Clementine|RapidMiner(?: Studio)?"
    r"|TIBCO Statistica|STATISTICA Data Miner|Apache Spark MLlib|Spark MLlib|Oracle Data Mining"
    r"|Microsoft (?:SQL Server|Analysis Services)|Test Model"
)
VERSION = re.compile(
    r"[vV]?\d{1,8}(?:[._-]\d{1,8}){0,5}(?:[-+._ ]?(?:SNAPSHOT|RELEASE|FINAL|Final|GA|alpha|beta|dev|post|pre"
    r"|rc|RC|M|a|b)[._-]?\d{0,8}){0,2}"
)
IDENTIFIER = re.compile(r"(?=.{1,40}\Z)[A-Za-z][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+){0,2}")
"""One word, or up to three joined as programs join them: no sentence."""
ALGORITHMS = re.compile(
    r"(?:sklearn|imblearn|xgboost|lightgbm|catboost|pyspark)(?:\.[A-Za-z_]{1,40}){1,6}|XGBoost \(GB(?:Tree|Linear)\)"
    r"|C&R Tree|C5\.0|Random Forest|Decision Tree|Gradient Boosting"
)

NUMBER = re.compile(
    r"[-+]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,4})?|[-+]?(?:INF|Infinity|NaN)"
)
ANY_NUMBER = re.compile(rf"{NUMBER.pattern}|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
"""A number that may be longer than any file needs: readers round it, so that most of it may say anything."""
MARKER = re.compile(
    r"[?*.#-]{0,4}|(?i:NA|N/A|NaN|NULL|NIL|None|missing|unknown|undefined|empty|other|invalid|blank|true|false)|"
    rf"{NUMBER.pattern}|\$null\$"
)
"""What stands for a missing or invalid value, a number or a truth value."""
_PART = r"[\w.@+-]{1,80}"
PLACE = re.compile(
    rf"(?:(?:[a-z][a-z0-9+]{{1,9}}:)?/{{0,3}}|~/|[A-Za-z]:[\\/]|\\\\)(?:{_PART}[\\/]+){{1,30}}(?:{_PART})?"
    rf"|[\w-]{{1,40}}\.\w{{1,8}}|(?:[\w.-]{{1,80}}:\d{{1,5}},?){{1,100}}"
)
"""Where a file lies: with folders, or with what tells its kind; or machines as they are listed."""
MOST_WORDS, LONGEST_LABEL = 3, 40
MOST_SIGNS = 10
"""So many numbers of a column may stand for a missing or invalid value (-1, -999); more are a list of values."""
DOUBLE_DIGITS = 17
"""Digits that tell any double from all others."""
_DECIMALS = Context(prec=1_200)
"""Digits enough for each double as it is."""


def is_moment(text: str) -> bool:
    """Return whether a text is a date or a moment, or nothing."""
    return not text.strip() or MOMENT.fullmatch(text.strip()) is not None


def is_maker(text: str) -> bool:
    """Return whether a text names who made a file, and nothing more."""
    return MAKER.fullmatch(text.strip()) is not None


def is_name(text: str) -> bool:
    """Return whether a text is one word, or up to three that are joined."""
    return IDENTIFIER.fullmatch(text) is not None


def is_program(text: str) -> bool:
    """Return whether a text is the name of a program."""
    return (IDENTIFIER.fullmatch(text) or PROGRAMS.fullmatch(text)) is not None


def is_algorithm(text: str) -> bool:
    """Return whether a text is the name of a learner."""
    return (IDENTIFIER.fullmatch(text) or ALGORITHMS.fullmatch(text)) is not None


def is_number(text: str) -> bool:
    """Return whether a text is a number, of however many digits."""
    return ANY_NUMBER.fullmatch(text.strip()) is not None


def has_digits_of_double(text: str) -> bool:
    """Return whether a number has no more digits than a double tells: up to 17, or those that the double itself has.

    A digit beyond these is no part of any value that a program computes with, and may say anything.
    """
    mantissa = re.split("[eE]", text.strip())[0].lstrip("+-")
    digits = mantissa.replace(".", "").strip("0")
    if len(digits) <= DOUBLE_DIGITS or not digits.isdigit():
        return True
    return is_rounded_double(text)


def is_rounded_double(text: str) -> bool:
    """Return whether a number is its double, exactly or rounded to the digits that stand there."""
    try:
        told, held = Decimal(text.strip()), Decimal(float(text))
    except InvalidOperation:  # an exponent that no decimal has
        return False
    if not held.is_finite():
        return False
    last = told.normalize(_DECIMALS).as_tuple().exponent
    assert isinstance(last, int)
    unit = Decimal((0, (1,), last))
    roundings = (ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP)
    return any(held.quantize(unit, rounding, _DECIMALS) == told for rounding in roundings)


def is_marker(text: str) -> bool:
    """Return whether a text is a number, a truth value, or a sign for no value."""
    return MARKER.fullmatch(text.strip()) is not None


def is_place(text: str) -> bool:
    """Return whether a text is a path, the name of a file, or machines with their ports, and nothing more."""
    return PLACE.fullmatch(text) is not None


def is_origin(text: str) -> bool:
    """Return whether a text is of any of these shapes."""
    return is_moment(text) or is_maker(text) or is_place(text)


def is_class_name(text: str) -> bool:
    """Return whether a class that nobody has is called by a few words, as a level of a factor is."""
    return len(text) <= LONGEST_LABEL and len(re.findall(r"\w+", text)) <= MOST_WORDS


# Text in model files that tells of people, places on a disk, or moments.

PATH = re.compile(
    r"(?:^|[\s\"'=:,(\[])"
    r"(?:~?/[\w.@+-]+/[\w.@+/-]+|[A-Za-z]:[\\/][\w.]|\\\\\w+\\|(?:s3|gs|hdfs|file|https?)://\w)"
)
PERSON = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
TIMESTAMP = re.compile(r"(?:19|20)\d\d-[01]\d-[0-3]\d(?:[T ][0-2]\d:[0-5]\d|$)")
AUTHOR_NAMES = ("user", "username", "author", "owner", "created_by", "creator", "email")


def telling(text: str, name: str = "") -> LeakKind | None:
    """Return what kind of thing a text gives away, if any; ``name`` is what it is called in the file.

    Somebody who is named, and not as the file's maker, may be in the table.
    """
    if name.lower() in AUTHOR_NAMES and text:
        return LeakKind.AUTHOR
    for kind, pattern in (
        (LeakKind.PERSON, PERSON),
        (LeakKind.PATH, PATH),
        (LeakKind.TIMESTAMP, TIMESTAMP),
    ):
        if pattern.search(text):
            return kind
    return None


GZIP = b"\x1f\x8b\x08"
CHUNK = 1 << 20
MOST_BYTES = 1 << 28
"""What unpacking xz may need: more is asked for by no usual setting."""
NAME_FLAG, COMMENT_FLAG, EXTRA_FLAG = 8, 16, 4
LONGEST_NAME = 100
HEADER = "the header of the packed file"


class Unpacker(Protocol):
    """What unpacks one part."""

    @property
    def eof(self) -> bool:
        """Whether the part is at its end."""

    @property
    def unused_data(self) -> bytes:
        """What stands behind its end."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return what is unpacked, no more than ``max_length``."""


class Gzip:
    """What unpacks a part that gzip packed; ``decompress`` keeps for the next call what was not unpacked yet."""

    def __init__(self) -> None:
        """Start before the header."""
        self._inner = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        """Whether the part is at its end."""
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        """What stands behind its end."""
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return what is unpacked, no more than ``max_length``."""
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


OPENERS: dict[bytes, Callable[[], Unpacker]] = {
    GZIP: Gzip,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_BYTES),
}


def unpacked(data: bytes, source: str) -> bytes:
    """Return what is packed in bytes by gzip, bzip2 or xz; the bytes themselves where they are not.

    Raises:
        TreeFormatError: they are damaged or cut off, end in something else, or unpack to more than is read.
    """
    opener = next((each for start, each in OPENERS.items() if data.startswith(start)), None)
    if opener is None:
        return data
    try:
        return b"".join(_parts(data, opener, source))
    except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise TreeFormatError(
            source,
            "the compressed file (gzip, bzip2 or xz) is damaged or cut off; copy it again, or compress "
            "the model again",
        ) from error


def packing_leaks(data: bytes, *, removable: bool) -> Iterator[Leak]:
    """Yield what the header of a file that gzip packed tells: names and texts that no model needs.

    There is one: what has several parts is not read.
    """
    if not data.startswith(GZIP) or len(data) < 10:
        return
    flags, moment = data[3], struct.unpack_from("<I", data, 4)[0]
    if moment:
        yield Leak(LeakKind.TIMESTAMP, HEADER, "when the file was packed", removable=removable)
    at = 10
    if flags & EXTRA_FLAG:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
        what = "an extra field that no program needs: check it"
        yield Leak(LeakKind.UNKNOWN, HEADER, what, removable=removable)
    if flags & NAME_FLAG:
        end = data.find(b"\0", at)
        is_long = not at <= end <= at + LONGEST_NAME
        name = "" if is_long else data[at:end].decode("latin-1")
        kind = LeakKind.PATH if is_place(name) or is_name(name) else LeakKind.UNKNOWN
        yield Leak(kind, HEADER, "what the file was called", removable=removable)
        at = end + 1
    if flags & COMMENT_FLAG:
        yield Leak(LeakKind.UNKNOWN, HEADER, "a comment: check it", removable=removable)


def _parts(data: bytes, opener: Callable[[], Unpacker], source: str) -> Iterator[bytes]:
    """Yield what is unpacked, a piece at a time."""
    at = total = 0
    unpacker = opener()
    while True:
        piece = data[at : at + CHUNK]
        at += len(piece)
        found = unpacker.decompress(piece, CHUNK)
        while found:
            total += len(found)
            if total > limits.BYTES:
                problem = f"unpacks to more than the limit of {limits.BYTES:,} bytes"
                raise TreeFormatError(source, f"{problem}; give the tree alone")
            yield found
            found = b"" if unpacker.eof else unpacker.decompress(b"", CHUNK)
        if unpacker.eof:
            break
        if not piece:
            raise TreeFormatError(source, "a packed file that is cut off; copy it again")
    if data[at - len(unpacker.unused_data) :].strip(b"\0"):
        problem = "something follows the packed data, or the data were packed in several parts"
        raise TreeFormatError(source, f"{problem}; unpack it, and give the tree alone")


# Files in a model's folder or archive that are no part of it: a table that lies there is published with the model.


def stray_files(names: Iterable[str], is_part: Callable[[str], bool]) -> Iterator[Leak]:
    """Yield one leak per file that the format has no use for; treewarden does not inspect it."""
    for name in names:
        if not is_part(name):
            what = "a file that is not part of the model: treewarden does not inspect it"
            yield Leak(LeakKind.UNKNOWN, name, what)
