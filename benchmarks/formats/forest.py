"""How fast a large PMML forest is read, against the bare parser: ``python -m benchmarks.formats.forest [NODES]``.

Each measurement runs in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lxml import etree

from tests.kit.large_pmml import forest
from treewarden.ppdm_models.files.load import read_model


def bare(path: Path) -> None:
    for _, element in etree.iterparse(path, events=("end",)):
        element.clear()


def whole(path: Path) -> None:
    read_model(path)


def main(nodes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.pmml"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(forest(nodes))
        print(f"{nodes:,} nodes, {path.stat().st_size / 1e6:,.0f} MB")
        for what in ("bare", "whole"):
            subprocess.run([sys.executable, "-m", __spec__.name, what, str(path)], check=True)


def measured(what: str, path: Path) -> None:
    start = time.process_time()
    {"bare": bare, "whole": whole}[what](path)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what}: {seconds:.1f} s of processor time, {peak:,.0f} MB at most")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measured(sys.argv[1], Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
