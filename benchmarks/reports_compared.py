"""Compares the reports of two checkouts, byte for byte but for their provenance: demo, Example 1, heart, German, Adult.

    python -m benchmarks.reports_compared OLD NEW --data ../shared/data [--but REGEX] [--form json ...]

OLD and NEW are commands that run treewarden, such as ``/old/.venv/bin/treewarden``. What differs is printed, but for
lines that REGEX is found in.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report_cases import Case, cases

FORMATS = ("text", "json", "html")
CLOCKS = (
    (r'"(created|seconds)": [^,}\n]*', r'"\1": 0'),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00|Z)", "WHEN"),
    (r"\bin \d+(\.\d+)? s\b", "in TIME"),
    (r"\d+(\.\d+)? seconds?", "TIME"),
)
"""What a clock says in a report, and what stands for it."""


@dataclass(frozen=True)
class Answer:
    """What a command wrote, its exit code last."""

    said: str
    code: int


def run(command: str, case: Case, form: str) -> Answer:
    arguments = [*shlex.split(command), *case.arguments, "--format", form, "--quiet"]
    done = subprocess.run(arguments, capture_output=True, cwd=case.folder)
    text = done.stdout.decode("utf-8", "replace") or done.stderr.decode("utf-8", "replace")
    for pattern, stand_in in CLOCKS:
        text = re.sub(pattern, stand_in, text)
    return Answer(text, done.returncode)


def differences(old: Answer, new: Answer, form: str) -> Iterator[str]:
    """Yield what differs: keys of JSON by their path, else lines."""
    if old.code != new.code:
        yield f"exit code {old.code} -> {new.code}"
    if form == "json" and old.code == new.code and old.said.startswith("{"):
        yield from _keys(json.loads(old.said), json.loads(new.said), "")
    elif old.said != new.said:
        lines = difflib.unified_diff(old.said.splitlines(), new.said.splitlines(), n=0, lineterm="")
        yield from (line[:200] for line in lines if not line.startswith(("---", "+++", "@@")))


def _keys(old: object, new: object, path: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _keys(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _keys(one, other, f"{path}[{number}]")
    elif old != new:
        yield f"{path}: {str(old)[:90]} -> {str(new)[:90]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--but", default="(?!)")
    parser.add_argument("--form", choices=FORMATS, action="append")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        same = total = 0
        for case in cases(given.data.resolve(), folder):
            for form in given.form or FORMATS:
                old, new = run(given.old, case, form), run(given.new, case, form)
                all_ = differences(old, new, form)
                found = [line for line in all_ if not re.search(given.but, line)]
                total, same = total + 1, same + (not found)
                print(
                    f"{case.name}, {form}: {'same' if not found else f'{len(found)} differences'}"
                )
                for line in found[:12]:
                    print(f"    {line}")
    print(f"{same} of {total} reports are the same")


if __name__ == "__main__":
    main()
