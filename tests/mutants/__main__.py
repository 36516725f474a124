"""The command line of the mutants: see the package."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tests.mutants.choosing import AREAS, Mutant
from tests.mutants.copying import COPY, FOLDER, REACH, RECORDED, RESULTS, prepare
from tests.mutants.equivalent import is_equivalent

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--color", "no")
OUTPUT = FOLDER / "output.txt"
SLACK_SECONDS, SLACK = 30, 10
"""A test may take so many seconds with a mutant, and so many times as long as it did without one."""
TIERS = ("quick", "rest")


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
    recorded = {line["path"] for line in _lines(RECORDED) if line["tier"] == tier}
    paths = [path for path in paths if path not in recorded]
    if not paths:
        return 0
    words = [sys.executable, *PYTEST, "-p", "tests.mutants.reach", "--tier", tier, *paths]
    done = subprocess.run(
        words, cwd=COPY, env=_environment(TREEWARDEN_MUTANT_REACH=REACH), check=False
    )
    with RECORDED.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"path": path, "tier": tier}) + "\n" for path in paths)
    # A test that fails is of no use, and no obstacle; paths may hold no test of the tier.
    return 0 if done.returncode in (1, 5) else done.returncode


def _run(mutants: list[Mutant], tier: str, seconds: float) -> None:
    """Try mutants that no test killed yet, each on the tests of a tier that evaluate it."""
    if not REACH.exists():
        raise SystemExit("nothing is known of the tests: python -m tests.mutants record")
    tests = {line["test"]: line for line in _lines(REACH) if line["tier"] == tier}
    results = list(_lines(RESULTS))
    done = {line["key"] for line in results if line["killer"] or line["tier"] == tier}
    plan = []
    for mutant in mutants:
        if mutant.key not in done and not is_equivalent(mutant.key):
            names, left = _tests_of(mutant, tests, seconds)
            limits = [(name, SLACK_SECONDS + SLACK * tests[name]["seconds"]) for name in names]
            plan.append(
                {
                    "number": mutant.number,
                    "key": mutant.key,
                    "tier": tier,
                    "tests": limits,
                    "left": left,
                }
            )
    with RESULTS.open("a", encoding="utf-8") as file:
        for wanted in plan:
            if not wanted["tests"]:
                file.write(json.dumps({**wanted, "killer": None, "tests": 0}) + "\n")
    plan = [wanted for wanted in plan if wanted["tests"]]
    if not plan:
        return
    files = sorted({_file(name) for wanted in plan for name, _ in wanted["tests"]})
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


def _tests_of(mutant: Mutant, tests: dict[str, dict], seconds: float) -> tuple[list[str], int]:
    """Return the tests of a mutant, those of its own room first and short ones first, and how many are left."""
    reaching = {name for name, t in tests.items() if t["passed"] and mutant.number in t["reached"]}
    # What a test of a file keeps for the others (a cached case) was noted of the first of them alone.
    files = {_file(name) for name in reaching}
    beside = {name for name, t in tests.items() if t["passed"] and _file(name) in files} - reaching
    room = f"tests/{PurePosixPath(mutant.path).parent}/"
    order = sorted(
        reaching | beside,
        key=lambda name: (
            name in beside,
            not name.startswith(room),
            tests[name]["seconds"],
            name,
        ),
    )
    names, total = [], 0.0
    for name in order:
        if total + tests[name]["seconds"] <= seconds:
            names.append(name)
            total += tests[name]["seconds"]
    return names, len(reaching - set(names))


def _file(test: str) -> str:
    return test.partition("::")[0]


def _report(mutants: list[Mutant]) -> None:
    """Say which mutants survived, and how many each area and tier killed."""
    results: dict[str, dict[str, dict]] = {}
    for line in _lines(RESULTS):
        results.setdefault(line["key"], {})[line["tier"]] = line
    counts = {area: Counter[str]() for area in AREAS}
    for mutant in mutants:
        outcome = _outcome(results.get(mutant.key, {}))
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


def _outcome(of_tier: dict[str, dict]) -> str:
    """Return what became of a mutant, from what is known of it in each tier that was tried."""
    for tier, line in of_tier.items():
        if line["killer"]:
            return tier
    if set(of_tier) != set(TIERS):
        return "not tried"
    if any(line["left"] for line in of_tier.values()):
        return "not decided"
    return "survived" if any(line["tests"] for line in of_tier.values()) else "not evaluated"


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
