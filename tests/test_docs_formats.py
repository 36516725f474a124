"""docs/engineering/formats.md shows what the program prints, and says of nodes what the trees of real files carry."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.judges.printed_at_nodes import CORPUS, corpus_trees, made_trees, printed, sample_trees
from tests.kit import places
from tests.kit.rows import rows
from tests.kit.run import run_command
from treewarden.audit import constraints
from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import members
from treewarden.audit.reading import Undetermined
from treewarden.policies.pack import read_pack
from treewarden.ppdm_models.files.load import formats
from treewarden.ppdm_models.plugins import discover
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

PAGE = (places.ROOT / "docs" / "engineering" / "formats.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ treewarden inspect (\S+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("file", "output"), SHOWN, ids=[file for file, _ in SHOWN])
def test_the_output_shown_is_what_inspect_prints(file, output, monkeypatch):
    if not (CORPUS / file).exists():
        pytest.skip("the corpus of published models is not here")
    monkeypatch.chdir(CORPUS)
    assert run_command("inspect", file).stdout == output


def test_the_clauses_shown_are_a_policy():
    clauses = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    text = 'name = "shown"\nversion = "1"\ntitle = "shown"\n' + "".join(clauses)
    assert len(read_pack(text.encode(), "shown").clauses) == 2


SECTION = PAGE.split("## What stands at nodes")[1].split("\n## ")[0]
ROWS = {
    cells[0]: cells[1:]
    for line in SECTION.splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 6
    and re.fullmatch(r"[a-z0-9]+_?[a-z0-9_]*", cells[0])
}
CONSTRAINTS = discover(constraints, "CONSTRAINT", Constraint)
PREFIXES = ("leaf_", "inner_", "node_", "other_")
OF_NODES = sorted(name for name in CONSTRAINTS if name.startswith(PREFIXES))
MOST_NODES = 60


def words(cell):
    return set() if cell == "–" else set(cell.split(", "))


def test_every_format_has_its_line():
    assert sorted(ROWS) == sorted(formats())


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_line_says_what_the_trees_carry(name):
    inner, leaves, *_ = ROWS[name]
    found = printed([*sample_trees()[name], *made_trees(name), *corpus_trees()[name]])
    if CORPUS.exists():
        assert (words(inner), words(leaves)) == found[:2]
    else:
        assert found[0] <= words(inner)
        assert found[1] <= words(leaves)


@rows("name", sorted(ROWS))
def test_what_no_row_uses_is_in_the_last_column(name):
    kinds = printed([*sample_trees()[name], *corpus_trees()[name]])[2]
    assert [kind for kind in kinds if kind not in ROWS[name][-1]] == []


@rows("name", sorted(ROWS))
def test_the_constraints_of_a_line_are_those_that_yield_rows_for_its_trees(name):
    trees = [*sample_trees()[name], *made_trees(name), *corpus_trees()[name]]
    telling = [tree for tree in trees if tree.classes and len(tree.nodes) <= MOST_NODES]
    if name == "r_forest_json":
        telling = []  # always a forest, of which no estimate is made
    found = {key for tree in telling for told in withheld(tree) for key in yielding(told)}
    assert words(ROWS[name][2]) == found if CORPUS.exists() else found <= words(ROWS[name][2])


def withheld(tree):
    """Return the tree, and what is left of it where its leaves or all nodes tell no class numbers."""
    bare = [replace(node, class_counts=None, class_shares=None) for node in tree.nodes]
    mixed = [b if node.is_leaf else node for node, b in zip(tree.nodes, bare, strict=True)]
    return tree, replace(tree, nodes=tuple(mixed)), replace(tree, nodes=tuple(bare))


def yielding(tree):
    """Return the constraints that yield rows where ten people, or as many as it says, stop in each leaf."""
    stops = np.array([leaf.index for leaf in tree.leaves])
    counts = np.array([leaf.records or 10.0 for leaf in tree.leaves])
    names = tuple(feature.name for feature in tree.features)
    columns = {feature.name: column_of(feature, len(stops)) for feature in tree.features}
    people = Population(names, columns, counts, stops, Undetermined("only the file is known"))
    tree = replace(tree, nodes=tuple(map(whatever_the_people, tree.nodes)))
    case = Case(tree, people, members(tree, stops), Knowledge(split="none"))
    return {name for name in OF_NODES if any(True for _ in CONSTRAINTS[name].rows(case))}


def whatever_the_people(node):
    """Return a node whose other splits have improvements that people made up have too."""
    others = tuple(replace(other, low=0.0, high=np.inf) for other in node.figures.other_splits)
    return replace(node, figures=replace(node.figures, other_splits=others))


def column_of(feature, size):
    """Return a column with as many different values as there are people to have them."""
    if feature.numeric:
        return NumericColumn(np.geomspace(1, 10_000, size))
    return CategoricalColumn(
        codes=np.arange(size) % max(len(feature.values), 1), categories=feature.values
    )


def test_every_constraint_about_nodes_is_on_the_page():
    assert [name for name in OF_NODES if f"`{name}`" not in SECTION] == []
