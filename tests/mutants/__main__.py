"""The command line of the mutants: see the package."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path, PurePosixPath

from tests.mutants.choosing import AREAS, Mutant
from tests.mutants.copying import (
    COPY,
    FOLDER,
    REACH,
    RECORDED,
    RESULTS,
    file_of,
    prepare,
    read_lines,
)
from tests.mutants.equivalent import is_equivalent

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--color", "no")
OUTPUT = FOLDER / "output.txt"
SLACK_SECONDS, SLACK = 30, 10
"""A test may take so many seconds with a mutant, and so many times as long as it did without one."""
TIERS = ("quick", "rest")
OUTCOMES = {
    "quick": "Killed by the quick tier",
    "rest": "By the rest only",
    "survived": "Survived both",
    "not evaluated": "Evaluated by no recorded test",
    "quick only": "Survived the quick tier, rest not tried",
    "open": "Open",
    "not tried": "Not tried",
    "equivalent": "Changes nothing",
}
"""What may become of a mutant, and what the column of the table is called."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("command", choices=("list", "record", "run", "report"))
    parser.add_argument("paths", nargs="*", help="record: tests that are recorded (all)")
    parser.add_argument("--tier", choices=TIERS, help="record, run: this tier of the tests (both)")
    parser.add_argument("--chunk", default="1/1", help="run: this part of the mutants, 3/20")
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--seconds", type=float, default=300, help="run: of tests for each mutant")
    asked = parser.parse_intermixed_args()
    mutants = prepare()
    tiers = [asked.tier] if asked.tier else TIERS
    if asked.command == "record":
        return max(_record(asked.paths or ["tests"], tier) for tier in tiers)
    if asked.command == "run":
        wanted = [mutant for mutant in mutants if mutant.area in asked.areas]
        for tier in tiers:
            _run(_chunk(wanted, asked.chunk), tier, asked.seconds)
    elif asked.command == "list":
        for mutant in mutants:
            print(f"{mutant.number} {mutant.area} {mutant.path}:{mutant.line} {mutant.text}")
    _report(mutants) if asked.command in ("run", "report") else None
    return 0


def _record(paths: list[str], tier: str) -> int:
    """Run tests once, with every mutant asleep; what was recorded of them before is not run again."""
    recorded = {line["path"] for line in read_lines(RECORDED) if line["tier"] == tier}
    files = [file for path in paths for file in _test_files(path) if file not in recorded]
    if not files:
        return 0
    (FOLDER / "files.txt").write_text("\n".join(files), encoding="utf-8")
    words = (*PYTEST, "-p", "tests.mutants.reach", "--tier", tier, f"@{FOLDER / 'files.txt'}")
    environment = _environment(TREEWARDEN_MUTANT_REACH=REACH, TREEWARDEN_MUTANT_RECORDED=RECORDED)
    done = subprocess.run([sys.executable, *words], cwd=COPY, env=environment, check=False)
    # A test that fails is of use to nobody, and no obstacle; files may hold no test of the tier.
    if done.returncode not in (0, 1, 5):
        return done.returncode
    with RECORDED.open("a", encoding="utf-8") as lines:
        lines.writelines(json.dumps({"path": file, "tier": tier}) + "\n" for file in files)
    return 0


def _test_files(path: str) -> list[str]:
    """Return the files of tests that a file or folder is, or holds."""
    below = COPY / path
    files = sorted(below.rglob("test_*.py")) if below.is_dir() else [below]
    return [file.relative_to(COPY).as_posix() for file in files]


def _run(mutants: list[Mutant], tier: str, seconds: float) -> None:
    """Try mutants that no test killed yet, each on the tests of a tier that evaluate it and were not tried."""
    if not REACH.exists():
        raise SystemExit("nothing is known of the tests: python -m tests.mutants record")
    lines = [line for line in read_lines(REACH) if line["tier"] == tier]
    tests = {line["test"]: {**line, "reached": set(line["reached"])} for line in lines}
    results = _results()
    plan = []
    for mutant in mutants:
        of_tier = results.get(mutant.key, {})
        enough = TIERS[: TIERS.index(tier) + 1]
        if is_equivalent(mutant.key) or any(of_tier[t]["killer"] for t in enough if t in of_tier):
            continue
        tried = of_tier[tier]["tried"] if tier in of_tier else []
        names, left = _tests_of(mutant, tests, set(tried), seconds)
        limits = [(name, SLACK_SECONDS + SLACK * tests[name]["seconds"]) for name in names]
        own = {"number": mutant.number, "key": mutant.key, "tier": tier}
        plan.append({**own, "tests": limits, "tried": tried, "left": left})
    with RESULTS.open("a", encoding="utf-8") as file:
        for wanted in plan:
            before = results.get(wanted["key"], {}).get(tier)
            if not wanted["tests"] and (before is None or before["left"] != wanted["left"]):
                file.write(json.dumps({**wanted, "killer": None}) + "\n")
    plan = [wanted for wanted in plan if wanted["tests"]]
    if not plan:
        return
    files = sorted({file_of(name) for wanted in plan for name, _ in wanted["tests"]})
    (FOLDER / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    (FOLDER / "files.txt").write_text("\n".join(files), encoding="utf-8")
    environment = _environment(
        TREEWARDEN_MUTANT_PLAN=FOLDER / "plan.json", TREEWARDEN_MUTANT_RESULTS=RESULTS
    )
    words = [
        *(sys.executable, *PYTEST, "-p", "tests.mutants.trying"),
        *("--tier", tier, f"@{FOLDER / 'files.txt'}"),
    ]
    with OUTPUT.open("w", encoding="utf-8") as output:
        done = subprocess.run(words, cwd=COPY, env=environment, stdout=output, check=False)
    if done.returncode:
        raise SystemExit(f"the tests could not be run; {OUTPUT} says why")


def _results() -> dict[str, dict[str, dict]]:
    """Return what is known of each mutant, by its key, in each tier: the last that was found of it."""
    results: dict[str, dict[str, dict]] = {}
    for line in read_lines(RESULTS):
        results.setdefault(line["key"], {})[line["tier"]] = line
    return results


def _tests_of(
    mutant: Mutant, tests: dict[str, dict], tried: set[str], seconds: float
) -> tuple[list[str], int]:
    """Return the tests of a mutant, those nearest to its module first and short ones first, and how many are left."""
    reaching = {name for name, t in tests.items() if t["passed"] and mutant.number in t["reached"]}
    # What a test of a file keeps for the others (a cached case) was noted of the first of them alone.
    files = {file_of(name) for name in reaching}
    beside = {name for name, t in tests.items() if t["passed"] and file_of(name) in files}
    room = ("tests", *PurePosixPath(mutant.path).parent.parts)
    order = sorted(
        beside - tried,
        key=lambda name: (
            name not in reaching,
            -shared_folders(room, PurePosixPath(file_of(name)).parts),
            tests[name]["seconds"],
            name,
        ),
    )
    names, total = [], 0.0
    for name in order:
        if total + tests[name]["seconds"] <= seconds:
            names.append(name)
            total += tests[name]["seconds"]
    return names, len(reaching - tried - set(names))


def shared_folders(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many folders two paths begin with together."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _report(mutants: list[Mutant]) -> None:
    """Say which mutants survived, and how many each area and tier killed."""
    results = _results()
    counts = {area: Counter[str]() for area in AREAS}
    for mutant in mutants:
        outcome = _outcome(mutant.key, results.get(mutant.key, {}))
        counts[mutant.area][outcome] += 1
        if outcome in ("survived", "not evaluated", "open", "quick only"):
            where = f"{mutant.number} {mutant.path}:{mutant.line} {mutant.function}"
            print(f"{outcome}: {where}: {mutant.text}")
    print(f"| Area | Faults | {' | '.join(OUTCOMES.values())} |")
    print("|---|---:|" + "---:|" * len(OUTCOMES))
    every = sum(counts.values(), Counter[str]())
    for area, counted in {**counts, "all": every}.items():
        row = [str(counted[outcome]) for outcome in OUTCOMES]
        print(f"| {area} | {counted.total()} | {' | '.join(row)} |")
    unknown = sum(
        every[outcome] for outcome in ("not evaluated", "quick only", "open", "not tried")
    )
    if unknown:
        print(
            f"what share the quick tier alone kills is not known: {unknown} faults are not finished"
        )
    else:
        share = 100 * every["quick"] / max(every["quick"] + every["rest"], 1)
        print(f"the quick tier alone kills {share:.1f} % of what the whole kills")


def _outcome(key: str, of_tier: dict[str, dict]) -> str:
    """Return what became of a mutant, from what is known of it in each tier that was tried."""
    if is_equivalent(key):
        return "equivalent"
    for tier in TIERS:
        if tier in of_tier and of_tier[tier]["killer"]:
            return tier
    if "quick" not in of_tier:
        return "not tried"
    if any(line["left"] for line in of_tier.values()):
        return "open"
    if not any(line["tried"] for line in of_tier.values()):
        return "not evaluated"
    return "survived" if "rest" in of_tier else "quick only"


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
        "PYTHONDONTWRITEBYTECODE": "",  # else each process that a test starts compiles all that it loads
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    return {**os.environ, **own, **{name: str(path) for name, path in more.items()}}


if __name__ == "__main__":
    sys.exit(main())
