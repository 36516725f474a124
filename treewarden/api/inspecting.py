"""``treewarden.inspect``: what does a model publish? No table is needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treewarden.api.frames import Card, frame_of
from treewarden.api.requests import AnyPath, model_input
from treewarden.audit.reconstruction.domain import DeclaredDomain
from treewarden.jobs.inputs import model_name
from treewarden.jobs.inspecting import facts, lines, said_of
from treewarden.jobs.public_domain import load_public_domain

if TYPE_CHECKING:
    import pandas as pd

_TREE = {
    **dict.fromkeys(("tree", "nodes", "leaves", "depth"), pa.int64()),
    "quality": pa.string(),
    "smallest_published": pa.float64(),
}
_LEAF = {
    "tree": pa.int64(),
    **dict.fromkeys(("node", "region", "says"), pa.string()),
    "records": pa.float64(),
    "quality": pa.string(),
}
_LEAK = {
    **dict.fromkeys(("kind", "group", "where", "what"), pa.string()),
    "records": pa.float64(),
    "removable": pa.bool_(),
}


class Inspection:
    """The content of a model, as ``treewarden inspect`` shows it. A notebook shows it as a card."""

    def __init__(self, name: str, said: dict[str, Any]) -> None:
        self._name = name
        self._said = said

    def to_dict(self) -> dict[str, Any]:
        """Return the output of ``treewarden inspect --leaves --format jsonl`` as plain values, without the path."""
        return dict(self._said)

    @cached_property
    def trees(self) -> pd.DataFrame:
        """One row per tree, at most 1,000."""
        whole = {
            **{name: self._said[name] for name in ("nodes", "leaves", "depth")},
            "tree": 1,
            "quality": self._said["support"]["quality"],
            "smallest_published": self._said["support"]["smallest_published"],
        }
        return frame_of(self._said.get("members") or [whole], _TREE)

    @cached_property
    def leaves(self) -> pd.DataFrame:
        """One row per leaf, at most 10,000: its region, its prediction, and its number of records if published."""
        return frame_of(
            (
                {**each, "says": None if each["says"] is None else str(each["says"])}
                for each in self._said["leaf"]
            ),
            _LEAF,
        )

    @cached_property
    def leaks(self) -> pd.DataFrame:
        """One row per finding in the file outside its trees."""
        return frame_of(self._said["leaks"], _LEAK)

    def __repr__(self) -> str:
        return "\n".join([self._name, *lines(self._said)])

    def _repr_html_(self) -> str:
        said: list[tuple[str, str]] = []
        for name, text in facts(self._said):
            said.append((name or said[-1][0], text))
        return Card("INSPECTED", self._name, said[0][1], facts=said[1:]).html()


def inspect(model: object, *, domain: AnyPath | None = None) -> Inspection:
    """Show what a model contains and publishes: the same as ``treewarden inspect``. No table is needed.

    Args:
        model: The path of a model file, its bytes, or a fitted estimator.
        domain: The path of a TOML file with what is public of the columns: with it the file may prove more records.

    Raises:
        TreeFormatError: the model cannot be read.
        KnowledgeError: the domain cannot be read, or does not fit the model.

    Example:
        >>> tw.inspect("tree.pmml").leaks
    """
    read = model_input(model)
    public = DeclaredDomain() if domain is None else load_public_domain(Path(domain))
    return Inspection(model_name(read), said_of(read, leaves=True, domain=public))
