"""What to do next, as a terminal shows it: numbered, with commands to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treewarden.reports.document.words import WIDTH, printable, wrapped


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do next: in words, and as a command to paste, "" where no command does it."""

    text: str
    command: str = ""


def step_lines(steps: Sequence[NextStep]) -> Iterator[str]:
    """Yield what to do next, numbered; a command is never broken, and has a line of its own where it is long."""
    if not steps:
        return
    yield ""
    yield "Next"
    for number, step in enumerate(steps, 1):
        command = printable(step.command)
        line = f"  {number}. {printable(step.text)} {command}".rstrip()
        if command and len(line) <= WIDTH:
            yield line
            continue
        yield from wrapped(f"{number}. {step.text}", "  ", "     ")
        if command:
            yield f"     {command}"
