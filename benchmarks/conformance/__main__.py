"""Compares every file of a collection of models with its real tool: ``python -m benchmarks.conformance FOLDER``."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from benchmarks.conformance.cases import CLEAN, WITH_GAPS, WITH_UNKNOWN
from benchmarks.conformance.compared import Line
from benchmarks.conformance.table import document
from benchmarks.conformance.worker import Worker

INDEX = "INDEX.tsv"
NO_MODELS = (INDEX, "README.md")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    parser.add_argument("--only", default="**/*", help="a pattern of files")
    parser.add_argument("--out", type=Path, help="where the table goes (default: only printed)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="how many of the usual records")
    parser.add_argument("--limit-seconds", type=float, default=300)
    asked = parser.parse_args()
    if not asked.models.is_dir():
        parser.error(f"no folder of models at {asked.models}")
    paths = sorted(path for path in asked.models.glob(asked.only) if path.is_file())
    lines: dict[str, Line] = {}
    with Worker(asked.seed, asked.scale, asked.limit_seconds) as worker:
        for path in paths:
            if path.name not in NO_MODELS:
                name = path.relative_to(asked.models).as_posix()
                lines[name] = worker.line(path)
                print(name, _short(lines[name]), flush=True)
    if asked.out:
        records = int((CLEAN + WITH_GAPS + WITH_UNKNOWN) * asked.scale)
        page = document(lines, _producers(asked.models), records, asked.seed)
        asked.out.write_text(page, encoding="utf-8")


def _short(line: Line) -> str:
    if line.refusal:
        return f"refused: {line.refusal[:100]}"
    if line.outcome is None:
        return f"read only: {line.reason[:100]}"
    return f"{line.outcome.compared} inputs, {line.outcome.mismatches} mismatches {line.outcome.first[:300]}"


def _producers(models: Path) -> dict[str, str]:
    if not (models / INDEX).exists():
        return {}
    with (models / INDEX).open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["file"]: row["producer+version"] for row in rows}


if __name__ == "__main__":
    main()
