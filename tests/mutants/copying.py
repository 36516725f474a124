"""The copy of the checkout that holds all chosen mutants, asleep, and what was measured of it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

from tests.mutants.choosing import Mutant, chosen
from tests.mutants.switching import SWITCH, with_mutants

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "mutants"
COPY, REACH, RESULTS = FOLDER / "checkout", FOLDER / "reach.jsonl", FOLDER / "results.jsonl"
RECORDED, MADE_OF = FOLDER / "recorded.jsonl", FOLDER / "made_of.json"


def prepare() -> list[Mutant]:
    """Make the copy unless there is one of these very files, and return its mutants."""
    files = _files()
    digest = hashlib.sha256(b"".join(_content(ROOT / name) for name in files)).hexdigest()
    if MADE_OF.exists():
        said = json.loads(MADE_OF.read_text(encoding="utf-8"))
        if said["digest"] == digest:
            return [Mutant(**mutant) for mutant in said["mutants"]]
    shutil.rmtree(FOLDER, ignore_errors=True)
    mutants = chosen(ROOT)
    for name in files:
        target = COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    _build_in(mutants)
    if (ROOT.parent / "shared").is_dir():
        (FOLDER / "shared").symlink_to(ROOT.parent / "shared")
    said = {"digest": digest, "mutants": [asdict(mutant) for mutant in mutants]}
    MADE_OF.write_text(json.dumps(said), encoding="utf-8")
    return mutants


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


def _content(file: Path) -> bytes:
    """Return what a file holds; of a link, where it leads."""
    return str(file.readlink()).encode() if file.is_symlink() else file.read_bytes()
