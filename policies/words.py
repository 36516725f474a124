"""How a sentence begins."""

from __future__ import annotations
