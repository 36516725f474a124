"""A field of a form as somebody typed it."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

Typed = Annotated[str, StringConstraints(strip_whitespace=True)]
"""Without what stands around it, as nobody sees that."""
