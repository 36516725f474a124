"""What a LightGBM model file holds that no reader of it knows: nothing in a file that the library itself wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ppdm_models.codecs.lightgbm.arrays import OF_LEAVES, OF_SPLITS
from ppdm_models.codecs.lightgbm.lines import END, IMPORTANCES, SETTING, Block, Document
from ppdm_models.codecs.lightgbm.words import SETTINGS, WORDS

HEADER = (
    "version",
    "num_class",
    "num_tree_per_iteration",
    "label_index",
    "max_feature_idx",
    "objective",
    "feature_names",
    "feature_infos",
    "monotone_constraints",
    "tree_sizes",
)
BARE = frozenset(("", "tree", "average_output"))
"""Lines of the header that have no value."""
OF_TREE = frozenset(
    (
        *OF_SPLITS,
        *OF_LEAVES,
        "num_leaves",
        "num_cat",
        "is_linear",
        "leaf_const",
        "num_features",
        "leaf_features",
        "leaf_coeff",
        "shrinkage",
    )
)
LISTS = frozenset(("cat_boundaries", "cat_threshold"))
"""What a tree holds that lists categories."""
AFTER = frozenset(("", END, IMPORTANCES, "parameters:", "end of parameters"))
PANDAS = "pandas_categorical:"
NUMBERS = re.compile(r"[-+0-9.eE,: \[\]]*|(?:nan|inf|-inf)(?: (?:nan|inf|-inf|[-+0-9.eE]+))*")
OBJECTIVE = re.compile(r"[a-z_0-9]{1,40}(?: (?:sqrt|[a-z_]{1,20}:[-+0-9.eE]{1,30}))*")
INFO = re.compile(r"none|\[[-+0-9.einfa]+:[-+0-9.einfa]+\]|-?\d{1,10}(?::-?\d{1,10})*")


def rest_of(document: Document, judged: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield lines that are not read, and what they hold; the settings ``judged`` are leaks by themselves."""
    names = frozenset((document.said("feature_names") or "").split())
    yield from _header(document, names)
    for block in document.trees:
        yield from _tree(document, block)
    yield from _after(document, names, judged)


def _header(document: Document, names: frozenset[str]) -> Iterator[tuple[int, str]]:
    for at in range(document.trees[0].start):
        key, equals, value = document.lines[at].rstrip("\r").partition("=")
        if (not equals and key in BARE) or (key in HEADER and _is_known(key, value)):
            continue
        yield at, "a line that no such file is known to have"


def _is_known(key: str, value: str) -> bool:
    """Return whether a line of the header says what it should; the names of features are judged by themselves."""
    if key == "feature_names":
        return True
    if key == "feature_infos":
        return all(map(INFO.fullmatch, value.split(" "))) or not value
    if key == "objective":
        return bool(OBJECTIVE.fullmatch(value)) and value.split(" ")[0] in WORDS
    if key == "version":
        return bool(re.fullmatch(r"v?[0-9.]{1,6}", value))
    return bool(NUMBERS.fullmatch(value))


def _tree(document: Document, block: Block) -> Iterator[tuple[int, str]]:
    sizes = _sizes(document, block)
    for at in range(block.start + 1, block.end):
        key, equals, value = document.lines[at].rstrip("\r").partition("=")
        if not equals and not key:
            continue
        if not equals or (key not in OF_TREE and key not in LISTS):
            yield at, "a line that no tree is known to have"
        elif not NUMBERS.fullmatch(value):
            yield at, f"the {key} of a tree are not numbers alone"
        elif key in sizes and len(value.split()) not in (0, sizes[key]):
            yield at, f"the {key} of a tree are more or fewer than it has nodes for"
        elif key in LISTS and (document.said("num_cat", block.keys) or "0") == "0":
            yield at, "categories in a tree that asks for none"


def _sizes(document: Document, block: Block) -> Mapping[str, int]:
    """Return how many numbers stand behind the keys that have one for each split, or for each leaf."""
    leaves = int(document.said("num_leaves", block.keys) or 0)
    return {
        **dict.fromkeys(OF_SPLITS, leaves - 1),
        **dict.fromkeys(OF_LEAVES, leaves),
        **dict.fromkeys(("num_leaves", "num_cat", "is_linear", "shrinkage"), 1),
    }


def _after(
    document: Document, names: frozenset[str], judged: frozenset[str]
) -> Iterator[tuple[int, str]]:
    importances = document.importances
    pandas = [at for at, line in enumerate(document.lines) if line.startswith(PANDAS)]
    settings = {at: key for key, at in document.settings.items()}
    for at in range(document.trees[-1].end, len(document.lines)):
        line = document.lines[at].rstrip("\r")
        if line in AFTER or at == (pandas or [-1])[-1]:
            continue
        if at in importances:
            name, _, value = line.rpartition("=")
            if name not in names or not NUMBERS.fullmatch(value):
                yield at, "an importance of no feature"
        elif at not in settings:
            yield at, "a line that no such file is known to have"
        elif settings[at] not in SETTINGS or not SETTING.fullmatch(line):
            yield at, "a setting that the library is not known to have"
        elif settings[at] not in judged and not _is_plain(document.setting(settings[at]), names):
            yield at, f"the setting {settings[at]!r} holds a text of its own"


def _is_plain(value: str | None, names: frozenset[str]) -> bool:
    """Return whether a setting is numbers, words of the library, or names of features."""
    said = (value or "").removeprefix("name:")
    if NUMBERS.fullmatch(said):
        return True
    return all(word in WORDS or word in names for word in re.split(r"[, ]+", said) if word)
