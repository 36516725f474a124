"""How large a file may be before it is refused: generous for real trees, small enough to fail fast on hostile ones.

The largest published single trees known to the authors hold some 8,000 nodes, 30 levels and 30 classes.
"""

from __future__ import annotations

BYTES = 64 * 1024 * 1024
"""The largest file that is read, in bytes."""

NODES = 100_000
"""The most nodes of one tree."""

DEPTH = 200
"""The most tests on one path; ``XML_DEPTH`` leaves room for what is around the nodes and inside them."""

XML_DEPTH = 250
"""The deepest XML element; libxml2 itself stops at 256."""

XML_ELEMENTS = 2_000_000
"""The most XML elements of one file."""

TEST_DEPTH = 16
"""The deepest nesting of "and" and "or" inside one test."""

CLASSES = 1_000
"""The most classes of one tree."""

CLASS_NUMBERS = 5_000_000
"""The most numbers about classes: nodes that publish some, times classes."""

FEATURES = 20_000
"""The most features of one tree."""

TAXONOMY_VALUES = 100_000
"""The most values of one attribute's hierarchy."""

TAXONOMY_LEVELS = 100
"""The most levels of one hierarchy."""
