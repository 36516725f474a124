"""How fast a large PMML forest is read, against the bare parser: ``python -m benchmarks.formats.forest [NODES]``.

Each measurement runs in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from ppdm_models.files.load import read_model

DEPTH = 11
FIELDS = 40
CLASSES = ("low", "middle", "high")
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
<Header/>
<DataDictionary>
{fields}
<DataField name="risk" optype="categorical" dataType="string">{values}</DataField>
</DataDictionary>
<MiningModel functionName="classification">
<MiningSchema>{schema}<MiningField name="risk" usageType="target"/></MiningSchema>
<Segmentation multipleModelMethod="majorityVote">
"""
TAIL = "</Segmentation>\n</MiningModel>\n</PMML>\n"


def forest(nodes: int) -> Iterator[str]:
    """Yield a forest of complete binary trees with at least this many nodes, piece by piece."""
    names = [f"attribute_{number}" for number in range(FIELDS)]
    yield HEAD.format(
        fields="\n".join(
            f'<DataField name="{name}" optype="continuous" dataType="double"/>' for name in names
        ),
        values="".join(f'<Value value="{label}"/>' for label in CLASSES),
        schema="".join(f'<MiningField name="{name}"/>' for name in names),
    )
    each = 2**DEPTH - 1
    for tree in range(-(-nodes // each)):
        schema = "".join(f'<MiningField name="{name}"/>' for name in names)
        yield (
            f'<Segment id="{tree}">\n<True/>\n<TreeModel functionName="classification" '
            f'splitCharacteristic="binarySplit">\n<MiningSchema>{schema}</MiningSchema>\n'
        )
        yield from _nodes(tree, names)
        yield "</TreeModel>\n</Segment>\n"
    yield TAIL


def _nodes(tree: int, names: list[str]) -> Iterator[str]:
    stack = [(1, 3 * 2 ** (DEPTH - 1), "<True/>")]
    while stack:
        number, records, test = stack.pop()
        if number == 0:
            yield "</Node>\n"
            continue
        counts = (records // 3, records // 3, records - 2 * (records // 3))
        items = "".join(
            f'<ScoreDistribution value="{label}" recordCount="{count}"/>\n'
            for label, count in zip(CLASSES, counts, strict=True)
        )
        yield f'<Node id="{number}" score="low" recordCount="{records}">\n{test}\n{items}'
        stack.append((0, 0, ""))
        if number < 2 ** (DEPTH - 1):
            name, at = names[(number + tree) % FIELDS], (number * 7919 + tree) % 1000 / 10 + 0.05
            for child, operator in ((2 * number + 1, "greaterThan"), (2 * number, "lessOrEqual")):
                said = f'<SimplePredicate field="{name}" operator="{operator}" value="{at}"/>'
                stack.append((child, records // 2, said))


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
