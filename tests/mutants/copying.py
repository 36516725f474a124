"""The copy of the checkout that holds all chosen mutants, asleep, and what was measured of it.

What was measured stays until a file changes that it rests on: of a test, its file and the modules of ``tests`` that it
loads; of a mutant, its module. Data and other modules of the product are not looked at: ``rm -r build/mutants``
begins anew.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from tests.mutants.choosing import Mutant, chosen
from tests.mutants.switching import SWITCH, with_mutants

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "mutants"
COPY, REACH, RESULTS = FOLDER / "checkout", FOLDER / "reach.jsonl", FOLDER / "results.jsonl"
RECORDED, MADE_OF = FOLDER / "recorded.jsonl", FOLDER / "made_of.json"


def prepare() -> list[Mutant]:
    """Bring the copy up to these very files, drop what was measured of those that changed, and return its mutants."""
    digests = {name: _digest(ROOT / name) for name in _files()}
    before, mutants = {}, []
    if MADE_OF.exists():
        made_of = json.loads(MADE_OF.read_text(encoding="utf-8"))
        before, mutants = made_of["digests"], [Mutant(**each) for each in made_of["mutants"]]
    if before == digests:
        return mutants
    changed = {name for name in {*before, *digests} if before.get(name) != digests.get(name)}
    if not before:  # also after a run that was ended in the midst of this
        shutil.rmtree(FOLDER, ignore_errors=True)
    old, mutants = mutants, chosen(ROOT)
    MADE_OF.unlink(missing_ok=True)
    for name in changed | {mutant.path for mutant in (*old, *mutants)}:
        _copy(name)
    _build_in(mutants)
    shared = FOLDER / "shared"
    if (ROOT.parent / "shared").is_dir() and not shared.is_symlink():
        shared.symlink_to(ROOT.parent / "shared")
    files = (REACH, RECORDED, RESULTS)
    records = Records(*(read_lines(file) for file in files))
    kept = keep_current(records, changed=changed, tests=_tests_of(changed), old=old, new=mutants)
    for file, lines in zip(files, (kept.reach, kept.recorded, kept.results), strict=True):
        write_lines(file, lines)
    made_of = {"digests": digests, "mutants": [asdict(mutant) for mutant in mutants]}
    MADE_OF.write_text(json.dumps(made_of), encoding="utf-8")
    return mutants


@dataclass(frozen=True, slots=True)
class Records:
    """What was measured: which tests evaluate which mutants, in which files, and what became of mutants."""

    reach: list[dict]
    recorded: list[dict]
    results: list[dict]


def keep_current(
    records: Records, *, changed: set[str], tests: set[str], old: list[Mutant], new: list[Mutant]
) -> Records:
    """Return what the changed modules, and files of tests, leave as it was, with the numbers of the new mutants.

    A mutant that was not there before was evaluated by nobody yet: tests are recorded again that evaluated another
    one of its module.
    """
    number_of = {mutant.key: mutant.number for mutant in new}
    key_of = {mutant.number: mutant.key for mutant in old}
    known = set(key_of.values())
    added = {mutant.path for mutant in new if mutant.key not in known}
    beside = {mutant.number for mutant in old if mutant.path in added}
    unknown = {
        file_of(line["test"]) for line in records.reach if not beside.isdisjoint(line["reached"])
    }
    again = tests | unknown
    reach = []
    for line in records.reach:
        keys = [key_of[number] for number in line["reached"]]
        if file_of(line["test"]) not in again:
            reached = sorted(number_of[key] for key in keys if key in number_of)
            reach.append({**line, "reached": reached})
    gone = {mutant.key for mutant in old if mutant.path in changed}
    results = []
    for line in records.results:
        if line["key"] not in gone and not (line["killer"] and file_of(line["killer"]) in tests):
            tried = [test for test in line["tried"] if file_of(test) not in tests]
            results.append({**line, "tried": tried})
    recorded = [line for line in records.recorded if line["path"] not in again]
    return Records(reach, recorded, results)


def _tests_of(changed: set[str]) -> set[str]:
    """Return the files of tests that changed, or load a module of ``tests`` that did."""
    modules = {name for name in changed if name.startswith("tests/") and name.endswith(".py")}
    if all(PurePosixPath(name).name.startswith("test_") for name in modules):
        return modules
    found = set(modules)
    files = {file.relative_to(ROOT).as_posix(): file for file in (ROOT / "tests").rglob("*.py")}
    loads = {name: set(_loaded(name, file)) for name, file in files.items()}
    while more := {name for name in files if name not in found and loads[name] & found}:
        found |= more
    return {name for name in found if PurePosixPath(name).name.startswith("test_")}


def _loaded(name: str, file: Path) -> Iterator[str]:
    """Yield the modules of ``tests`` that one imports, and the conftest.py above it."""
    for folder in PurePosixPath(name).parents:
        yield f"{folder}/conftest.py"
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for module in names:
            yield f"{module.replace('.', '/')}.py"


def _copy(name: str) -> None:
    """Bring one file of the copy up to date, or remove it."""
    source, target = ROOT / name, COPY / name
    target.unlink(missing_ok=True)
    if source.is_file() or source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)


def _build_in(mutants: list[Mutant]) -> None:
    of_path: dict[str, dict[int, int]] = {}
    for mutant in mutants:
        of_path.setdefault(mutant.path, {})[mutant.place] = mutant.number
    for path, numbers in of_path.items():
        file = COPY / path
        file.write_text(with_mutants(file.read_text(encoding="utf-8"), numbers), encoding="utf-8")
    (COPY / "mutant_switch.py").write_text(SWITCH, encoding="utf-8")


def _files() -> list[str]:
    """Return the files of the checkout that are its own: what git does not ignore."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout
    names = sorted(set(listed.decode().split("\0")) - {""})
    return [name for name in names if (ROOT / name).is_file() or (ROOT / name).is_symlink()]


def _digest(file: Path) -> str:
    """Return the digest of what a file holds; of a link, of where it leads."""
    content = str(file.readlink()).encode() if file.is_symlink() else file.read_bytes()
    return hashlib.sha256(content).hexdigest()


def file_of(test: str) -> str:
    """Return the file of a test, by the name that pytest has for it."""
    return test.partition("::")[0]


def read_lines(path: Path) -> list[dict]:
    """Return the records of a file that has one on each line."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, lines: Iterable[dict]) -> None:
    """Write records, one on each line."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
