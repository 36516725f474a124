"""Small tables of people with an id, and trees of one split that count them: releases of a model, made on the spot."""

from __future__ import annotations

import csv
import io
from collections import Counter

CERTAIN = """name = "certain"
version = "1"
title = "certain"

[[clause]]
id = "certain"
measure = "certain_disclosure"
rule = "at_most"
limit = 0
"""
"""A policy under which nobody's value may be proved."""
LEAVES = """
[[clause]]
id = "leaves"
measure = "k_anonymity"
rule = "at_least"
limit = 5
"""
"""A clause that asks for leaves of five."""


def a_table(*records):
    """Return a table as CSV of people who are written "id place illness"."""
    return "id,place,illness\n" + "".join(",".join(each.split()) + "\n" for each in records)


def a_tree(table, classes=("no", "yes"), weights=None, leaf_of=None):
    """Return a tree as PMML that splits on the place, or on what ``leaf_of`` makes of it, and counts who is ill."""
    found: dict[str, Counter[str]] = {}
    members: dict[str, list[str]] = {}
    for row in csv.DictReader(io.StringIO(table)):
        leaf = (leaf_of or str)(row["place"])
        people = int(row[weights]) if weights else 1
        found.setdefault(leaf, Counter())[row["illness"]] += people
        if row["place"] not in members.setdefault(leaf, []):
            members[leaf].append(row["place"])
    whole = sum(found.values(), Counter())
    leaves = "".join(
        _node(number, _is_one_of(members[name]), found[name], classes)
        for number, name in enumerate(sorted(found), start=1)
    )
    places = "".join(f'<Value value="{each}"/>' for each in sorted(sum(members.values(), [])))
    values = "".join(f'<Value value="{each}"/>' for each in classes)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary numberOfFields="2">'
        f'<DataField name="place" optype="categorical" dataType="string">{places}</DataField>'
        f'<DataField name="illness" optype="categorical" dataType="string">{values}</DataField></DataDictionary>'
        '<TreeModel functionName="classification" splitCharacteristic="multiSplit"><MiningSchema>'
        '<MiningField name="place"/><MiningField name="illness" usageType="target"/></MiningSchema>'
        f"{_node(0, '<True/>', whole, classes, leaves)}</TreeModel></PMML>"
    ).encode()


def _is_one_of(places):
    array = " ".join(f"&quot;{each}&quot;" for each in places)
    return (
        '<SimpleSetPredicate field="place" booleanOperator="isIn">'
        f'<Array type="string" n="{len(places)}">{array}</Array></SimpleSetPredicate>'
    )


def _node(number, test, counts, classes, inside=""):
    score = max(classes, key=lambda each: counts[each])
    told = "".join(
        f'<ScoreDistribution value="{each}" recordCount="{counts[each]}"/>' for each in classes
    )
    return f'<Node id="{number}" score="{score}" recordCount="{counts.total()}">{test}{told}{inside}</Node>'
