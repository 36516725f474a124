"""A large PMML forest of complete trees, written piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

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
