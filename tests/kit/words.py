"""Counts words of a private language in what people read: the README, the pages, help screens and terminal output.

``python -m tests.kit.words`` prints, by document, how many there are of 1,000 words, and the ceiling of each.
``--check`` fails where a document has more than its ceiling, ``--shrink`` lowers ceilings to what there is now, and
never raises one.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from tests.kit import places
from treewarden.cli import COMMANDS, cli

CEILINGS = places.ROOT / "tests" / "words.json"
NEW = 5.0
"""The ceiling of a document that has none yet; no ceiling is lower, so that a page may change a little."""
TOKENS = {
    "whoever": r"\bwhoever\b",
    "who knows": r"\bwho knows\b",
    "somebody": r"\bsomebody\b",
    "where (first in a clause)": r"(?:^|[.,:;]\s+)where\b",
    "of whom": r"\bof whom\b",
    "told": r"\btold\b",
    "stands": r"\bstands?\b",
    "beside": r"\bbeside\b",
    "witness": r"\bwitness(?:es)?\b",
    "reading": r"\breadings?\b",
    "demand": r"\bdemands?\b",
    "semicolon": r";",
}
PATTERN = re.compile("|".join(TOKENS.values()), re.IGNORECASE | re.MULTILINE)
CODE = re.compile(r"^(```+|~~~+).*?^\1|`[^`\n]*`|\]\([^)]*\)|<[^>\n]*>", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
FLUENT = 50
"""A document of fewer words has no rate that means anything."""


def prose(page: str) -> str:
    """Return a page of Markdown without code, addresses and tags."""
    return CODE.sub(" ", page)


def rate(text: str) -> float:
    """Return how many of 1,000 words are of the list; 0 of a text that is too short."""
    words = len(WORD.findall(text))
    return round(1000 * len(PATTERN.findall(text)) / words, 1) if words >= FLUENT else 0.0


def by_token(text: str) -> dict[str, int]:
    """Return how often each of the list is in a text, the most frequent first."""
    flags = re.IGNORECASE | re.MULTILINE
    found = {name: len(re.findall(pattern, text, flags)) for name, pattern in TOKENS.items()}
    return dict(sorted(((n, c) for n, c in found.items() if c), key=lambda item: -item[1]))


def documents() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each document; pages that a build of the site leaves behind are none."""
    pages = [places.ROOT / "README.md", *sorted((places.ROOT / "docs").rglob("*.md"))]
    for page in (page for page in pages if "_generated" not in page.parts):
        yield page.relative_to(places.ROOT).as_posix(), prose(page.read_text("utf-8"))
    yield from help_screens()
    yield from outputs()


def help_screens() -> Iterator[tuple[str, str]]:
    """Yield what ``--help`` of each command prints, those of a group together with its own."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        inner = sorted(command.commands) if isinstance(command, click.Group) else []
        asked = [[name], *([name, each] for each in inner)]
        yield f"help {name}", "\n".join(_run(*words, "--help") for words in asked)


def outputs() -> Iterator[tuple[str, str]]:
    """Yield what an audit and a repair of a small tree print, commands left out, and built-in policies in words."""
    from tests.treewarden.conftest import written

    with tempfile.TemporaryDirectory() as folder:
        files = written(Path(folder))
        asked = [str(files.model), "--data", str(files.table), "--policy", "strict", "-q"]
        target = ["-o", str(files.folder / "fixed.pmml")]
        yield "output audit", _run("audit", *asked)
        yield "output audit --verbose", _run("audit", *asked, "--verbose")
        yield "output repair", _run("repair", *asked, *target)
    yield (
        "output policy explain",
        "\n".join(_run("policy", "explain", name) for name in ("standard", "strict", "randomised")),
    )


def _run(*words: str) -> str:
    printed = CliRunner().invoke(cli, list(words), env={"COLUMNS": "100"}).stdout
    return "\n".join(line for line in printed.splitlines() if "treewarden " not in line)


def ceilings() -> dict[str, float]:
    """Return the ceilings by document."""
    return json.loads(CEILINGS.read_text("utf-8"))


def shrink(rates: dict[str, float]) -> None:
    """Lower the ceilings to what there is, but not below ``NEW``; a new document gets ``NEW`` once there are some."""
    before = ceilings() if CEILINGS.exists() else {}
    kept = {
        name: min(max(rate, NEW), before.get(name, NEW if before else max(rate, NEW)))
        for name, rate in rates.items()
    }
    CEILINGS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", "utf-8")


def main(arguments: list[str]) -> int:
    """Print the counts, or check or lower the ceilings; return the exit code."""
    texts = dict(documents())
    rates = {name: rate(text) for name, text in texts.items()}
    if "--shrink" in arguments:
        shrink(rates)
    limits = ceilings()
    over = {name: now for name, now in rates.items() if now > limits.get(name, NEW)}
    if "--check" not in arguments:
        for name, now in sorted(rates.items(), key=lambda item: -item[1]):
            most = ", ".join(
                f"{token} {number}" for token, number in list(by_token(texts[name]).items())[:4]
            )
            print(f"{now:6.1f}  {limits.get(name, NEW):6.1f}  {name:40} {most}")
    for name, now in over.items():
        print(
            f"{name}: {now} of 1,000 words, and {limits.get(name, NEW)} is its ceiling: {by_token(texts[name])}"
        )
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
