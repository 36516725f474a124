"""A mapping from a YAML file that a stranger may have written: bounded, without aliases, each key once."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from treewarden.ppdm_models.errors import PolicyError

MOST_BYTES = 100_000
MOST_EVENTS = 2_000
DEEPEST = 4
"""How deep lists and mappings may be nested; the files in question are a mapping of numbers and one list."""


def read_mapping(data: bytes, where: str) -> dict[str, object]:
    """Return what a YAML file says, by its keys in the file's order.

    Only plain values, lists and mappings are made of it, whatever tags it carries.

    Raises:
        PolicyError: no YAML, no mapping, a key twice, an alias, or larger or deeper than such a file can be.
    """
    yaml = _library(where)
    if len(data) > MOST_BYTES:
        problem = f"it has {len(data):,} bytes; give a file of at most {MOST_BYTES:,}"
        raise PolicyError(where, problem)
    try:
        text = data.decode("utf-8-sig")
        _check(yaml, text, where)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if not isinstance(root, yaml.MappingNode):
            raise PolicyError(where, "not a mapping; give lines of the form 'key: value'")
        _check_keys(root, where)
        said: dict[str, object] = yaml.safe_load(text)
    except UnicodeDecodeError as error:
        raise PolicyError(where, "not text in UTF-8; save it as UTF-8") from error
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise PolicyError(where, f"not a YAML file ({reason}); mend it") from error
    return said


def _library(where: str) -> ModuleType:
    """Return the optional library, imported only where a YAML file is read."""
    try:
        return importlib.import_module("yaml")
    except ImportError as error:
        problem = "reading YAML needs a library; pip install 'treewarden[acro]'"
        raise PolicyError(where, problem) from error


def _check(yaml: ModuleType, text: str, where: str) -> None:
    """Check the size and the shape of a file before anything is made of it.

    Raises:
        PolicyError: it has an alias, several documents, or more or deeper parts than such a file can have.
    """
    depth = documents = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        place = f"{where}:{event.start_mark.line + 1}"
        if number >= MOST_EVENTS:
            raise PolicyError(
                place, f"more than {MOST_EVENTS:,} parts; give the risk appetite alone"
            )
        if isinstance(event, yaml.AliasEvent):
            raise PolicyError(place, f"an alias (*{event.anchor}); write the value out")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise PolicyError(place, "a second document; give one")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise PolicyError(place, f"nested more than {DEEPEST} deep; give plain values")
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_keys(root: Any, where: str) -> None:  # noqa: ANN401  # a node of an optional library
    """Check that each key is a word and stands once: YAML itself would take the last of several.

    Raises:
        PolicyError: a key is no text, or stands twice.
    """
    seen: set[str] = set()
    for key, _ in root.value:
        place = f"{where}:{key.start_mark.line + 1}"
        if key.tag != "tag:yaml.org,2002:str":
            raise PolicyError(
                place, f"the key {str(key.value)!r:.60} is no word; mend or delete it"
            )
        if key.value in seen:
            raise PolicyError(place, f"the key {key.value!r:.60} stands twice; delete one of them")
        seen.add(key.value)
