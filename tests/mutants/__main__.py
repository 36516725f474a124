"""The command line of the mutants: see the package."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.choosing import AREAS, Mutant
from tests.mutants.copying import COPY, FOLDER, REACH, RECORDED, RESULTS, prepare
from tests.mutants.equivalent import is_equivalent

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--color", "no")
OUTPUT = FOLDER / "output.txt"
SLACK_SECONDS, SLACK = 60, 8
"""A mutant may take so many seconds, and so many times as long as its tests did without it."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("command", choices=("list", "record", "run", "report"))
    parser.add_argument("paths", nargs="*", help="record: tests that are recorded (all)")
    parser.add_argument("--chunk", default="1/1", help="run: this part of the mutants, 3/20")
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--seconds", type=float, default=300, help="run: of tests for each mutant")
    asked = parser.parse_args()
    mutants = prepare()
    if asked.command == "record":
        return _record(asked.paths or ["tests"])
    if asked.command == "run":
        wanted = [mutant for mutant in mutants if mutant.area in asked.areas]
        _run(_chunk(wanted, asked.chunk), asked.seconds)
    elif asked.command == "list":
        for mutant in mutants:
            print(f"{mutant.number} {mutant.area} {mutant.path}:{mutant.line} {mutant.text}")
    _report(mutants) if asked.command in ("run", "report") else None
    return 0


def _record(paths: list[str]) -> int:
    """Run tests once, with every mutant asleep; what was recorded of them before is not run again."""
    recorded = {line["path"] for line in _lines(RECORDED)}
    paths = [path for path in paths if path not in recorded]
    if not paths:
        return 0
    words = [sys.executable, *PYTEST, "-p", "tests.mutants.reach", *paths]
    done = subprocess.run(
        words, cwd=COPY, env=_environment(TREEWARDEN_MUTANT_REACH=REACH), check=False
    )
    with RECORDED.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"path": path}) + "\n" for path in paths)
    return (
        0 if done.returncode == 1 else done.returncode
    )  # a test that fails is of no use, and no obstacle


def _run(mutants: list[Mutant], seconds: float) -> None:
    """Try mutants that were not tried yet, each on the tests that evaluate it, quick and short ones first."""
    if not REACH.exists():
        raise SystemExit("nothing is known of the tests: python -m tests.mutants record")
    tests = {line["test"]: line for line in _lines(REACH)}
    tried = {line["key"] for line in _lines(RESULTS)}
    plan = []
    for mutant in mutants:
        if mutant.key not in tried and not is_equivalent(mutant.key):
            names, left, timeout = _tests_of(mutant, tests, seconds)
            plan.append(
                {
                    "number": mutant.number,
                    "key": mutant.key,
                    "tests": names,
                    "left": left,
                    "timeout": timeout,
                }
            )
    files = sorted({_file(name) for wanted in plan for name in wanted["tests"]})
    if not files:
        return
    (FOLDER / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    (FOLDER / "files.txt").write_text("\n".join(files), encoding="utf-8")
    environment = _environment(
        TREEWARDEN_MUTANT_PLAN=FOLDER / "plan.json", TREEWARDEN_MUTANT_RESULTS=RESULTS
    )
    words = [sys.executable, *PYTEST, "-p", "tests.mutants.trying", f"@{FOLDER / 'files.txt'}"]
    with OUTPUT.open("w", encoding="utf-8") as output:
        done = subprocess.run(words, cwd=COPY, env=environment, stdout=output, check=False)
    if done.returncode:
        raise SystemExit(f"the tests could not be run; {OUTPUT} says why")


def _tests_of(
    mutant: Mutant, tests: dict[str, dict], seconds: float
) -> tuple[list[str], int, float]:
    """Return the tests of a mutant in the order in which they are tried, how many are left, and a time-out."""
    reaching = {name for name, t in tests.items() if t["passed"] and mutant.number in t["reached"]}
    # What a test of a file keeps for the others (a cached case) was noted of the first of them alone.
    files = {_file(name) for name in reaching}
    beside = {name for name, t in tests.items() if t["passed"] and _file(name) in files} - reaching
    order = sorted(
        reaching | beside,
        key=lambda name: (
            tests[name]["tier"] != "quick",
            name in beside,
            tests[name]["seconds"],
            name,
        ),
    )
    names, total = [], 0.0
    for name in order:
        if total + tests[name]["seconds"] <= seconds:
            names.append(name)
            total += tests[name]["seconds"]
    return names, len(reaching - set(names)), SLACK_SECONDS + SLACK * total


def _file(test: str) -> str:
    return test.partition("::")[0]


def _report(mutants: list[Mutant]) -> None:
    """Say which mutants survived, and how many each area and tier killed."""
    tiers = {line["test"]: line["tier"] for line in _lines(REACH)}
    results = {line["key"]: line for line in _lines(RESULTS)}
    counts = {area: Counter[str]() for area in AREAS}
    for mutant in mutants:
        outcome = _outcome(results.get(mutant.key), tiers)
        if is_equivalent(mutant.key):
            outcome = "equivalent"
        counts[mutant.area][outcome] += 1
        if outcome in ("survived", "not decided", "not evaluated"):
            print(f"{outcome}: {mutant.path}:{mutant.line} {mutant.function}: {mutant.text}")
    outcomes = (
        *("quick", "rest", "survived", "equivalent"),
        *("not evaluated", "not decided", "not tried"),
    )
    print(
        "| area | killed by the quick tier | by the rest | survived | equivalent | not evaluated | not decided "
        "| not tried |"
    )
    print("|---|" + "---|" * len(outcomes))
    for area, counted in {**counts, "all": sum(counts.values(), Counter[str]())}.items():
        print(f"| {area} | " + " | ".join(str(counted[outcome]) for outcome in outcomes) + " |")


def _outcome(result: dict | None, tiers: dict[str, str]) -> str:
    if result is None:
        return "not tried"
    if result["killer"]:
        # Whatever hangs or crashes does so in one of the tests, and the quick ones come first.
        return "quick" if tiers.get(result["killer"], "quick") == "quick" else "rest"
    if result["left"]:
        return "not decided"
    return "survived" if result["tests"] else "not evaluated"


def _chunk(mutants: list[Mutant], chunk: str) -> list[Mutant]:
    """Return one of so many parts, each with mutants of every area."""
    number, of = map(int, chunk.split("/"))
    if not 1 <= number <= of:
        raise SystemExit(f"--chunk {chunk}: give a number from 1 to how many parts there are, 3/20")
    return mutants[number - 1 :: of]


def _environment(**more: Path) -> dict[str, str]:
    own = {
        "PYTHONPATH": str(COPY),
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    return {**os.environ, **own, **{name: str(path) for name, path in more.items()}}


def _lines(path: Path) -> Iterable[dict]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
