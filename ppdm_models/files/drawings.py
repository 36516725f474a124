"""Trees as text for drawing programs, written only: DOT for Graphviz, and Mermaid."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, Other
from treewarden.ppdm_models.tree.predicate import Always, text
from treewarden.ppdm_models.tree.tree import Node, Tree, count_of

PLAIN = frozenset(" .,:=≤≥≠()+-%/_{}")
"""The signs, beside letters and digits, that need no code in a Mermaid label."""


def dot(model: Model) -> bytes:
    """Return a model in Graphviz' DOT: one digraph per tree, one after the other."""
    lines: list[str] = []
    for name, tree in _named(model):
        lines += [f"digraph {_quoted(name)} {{", "  node [shape=box];"]
        for node in tree.nodes:
            lines.append(f"  n{node.index} [label={_quoted(_label(tree, node))}];")
        for node in tree.nodes[1:]:
            lines.append(f"  n{node.parent} -> n{node.index} [label={_quoted(text(node.test))}];")
        lines.append("}")
    return _bytes(lines)


def mermaid(model: Model) -> bytes:
    """Return a model as one Mermaid flowchart; each tree of an ensemble is a subgraph."""
    lines = ["flowchart TD"]
    for number, (name, tree) in enumerate(_named(model), 1):
        if isinstance(model, Ensemble):
            lines.append(f"  subgraph t{number}[{_coded(name)}]")
        for node in tree.nodes:
            lines.append(f"  t{number}n{node.index}[{_coded(_label(tree, node))}]")
        for node in tree.nodes[1:]:
            ends = (f"t{number}n{node.parent}", f"t{number}n{node.index}")
            lines.append(f"  {ends[0]} -->|{_coded(text(node.test))}| {ends[1]}")
        if isinstance(model, Ensemble):
            lines.append("  end")
    return _bytes(lines)


def _named(model: Model) -> Iterator[tuple[str, Tree]]:
    """Yield each tree with its title: the target, or the number of the tree and when and for what it speaks."""
    if isinstance(model, Tree):
        yield model.target or model.source, model
        return
    number = 0
    stack: list[tuple[Tree | Ensemble | Other, str]] = [(model, "")]
    while stack:
        part, said = stack.pop()
        if isinstance(part, Tree):
            number += 1
            yield f"tree {number}{said}", part
        elif isinstance(part, Ensemble):
            for member in reversed(part.members):
                more = "" if isinstance(member.test, Always) else f", where {text(member.test)}"
                if member.output is not None:
                    more += f", for {_output(model, member.output)}"
                if member.weight != 1.0:
                    more += f", weight {number_text(member.weight)}"
                stack.append((member.model, said + more))


def _output(model: Ensemble, output: int) -> str:
    return model.classes[output] if output < len(model.classes) else f"output {output + 1}"


def _label(tree: Tree, node: Node) -> str:
    parts = []
    if node.score is not None:
        parts.append(node.score if isinstance(node.score, str) else number_text(float(node.score)))
    elif node.outputs is not None:
        parts.append(", ".join(map(number_text, node.outputs)))
    records = count_of(node)
    if records is not None and tree.has_people:
        parts.append(f"{number_text(records)} records")
    return ": ".join(parts) or node.name


def _quoted(words: str) -> str:
    r"""Return words as a DOT string: backslashes and quotes escaped, control characters spelt out."""
    safe = _spelt(words).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{safe}"'


def _coded(words: str) -> str:
    """Return words as a Mermaid label; signs that could mean something there become their code (``#35;``)."""
    signs = (
        sign if sign.isalnum() or sign in PLAIN else f"#{ord(sign)};" for sign in _spelt(words)
    )
    return f'"{"".join(signs)}"'


def _spelt(words: str) -> str:
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in words
    )


def _bytes(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")
