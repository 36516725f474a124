"""A field of a form as somebody typed it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import StringConstraints

Typed = Annotated[str, StringConstraints(strip_whitespace=True)]
"""Without what stands around it, as nobody sees that."""

Words = Annotated[Typed, Query(max_length=200)]
"""What a list is looked through for."""
