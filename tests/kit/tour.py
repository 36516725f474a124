"""The links of the guided tour: each names what is defined at the line that it leads to.

``python -m tests.kit.tour`` writes the lines anew.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.kit import places

TOUR = places.ROOT / "TOUR.md"
LINK = re.compile(r"\[`(?P<name>\w+)`\]\((?P<path>[\w/]+\.py)#L(?P<line>\d+)\)")


def links(text: str) -> Iterator[re.Match[str]]:
    """Yield the links that lead to a line."""
    return LINK.finditer(text)


@cache
def lines_of_definitions(path: str) -> dict[str, int]:
    """Return where each function and class of a module is defined, decorators left aside."""
    tree = ast.parse((places.ROOT / path).read_text("utf-8"))
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name: node.lineno for node in tree.body if isinstance(node, definitions)}


def updated(text: str) -> str:
    """Return the tour with the lines as they are now.

    Raises:
        KeyError: a name is defined nowhere in its file.
    """

    def link(match: re.Match[str]) -> str:
        name, path = match["name"], match["path"]
        return f"[`{name}`]({path}#L{lines_of_definitions(path)[name]})"

    return LINK.sub(link, text)


def write(tour: Path = TOUR) -> None:
    """Write the lines anew."""
    tour.write_text(updated(tour.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write()
