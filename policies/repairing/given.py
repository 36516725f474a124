"""What a repair may use beyond the model and its people."""

from __future__ import annotations

from dataclasses import dataclass, field

from treewarden.policies.repairing.holdout import Holdout
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tables.taxonomy import Taxonomies


@dataclass(frozen=True, slots=True)
class Given:
    """What a repair may use beyond the model and its people.

    ``taxonomies`` are hierarchies of values that remedies may merge by; ``table`` holds the records where they are to
    be published beside the tree; ``holdout`` is what the loss is measured on. ``bases`` are the widths of bands that
    numbers are given in, in records (empty: those that ``redact`` knows). ``trees_alone`` says that the changed model
    is written in another format than the original: nothing that stands beside the trees comes along.
    """

    taxonomies: Taxonomies = field(default_factory=dict)
    table: Table | None = None
    holdout: Holdout | None = None
    bases: tuple[int, ...] = ()
    trees_alone: bool = False
