"""From one format of published trees to another: whole, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.files.load import load_model, writers
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, NonTreeModel, trees_of
from treewarden.ppdm_models.tree.plain_splits import on_32_bits
from treewarden.ppdm_models.tree.predicate import Always, Predicate, text
from treewarden.ppdm_models.tree.tree import Node, Tree, count_of

# Trees as text for drawing programs, written only: DOT for Graphviz, and Mermaid.

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
    stack: list[tuple[Tree | Ensemble | NonTreeModel, str]] = [(model, "")]
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


MODELS = ("pmml", "treewarden_json")
DRAWINGS: Mapping[str, Callable[[Model], bytes]] = {"dot": dot, "mermaid": mermaid}
OTHER_FORMAT = f"choose another format ({', '.join(MODELS)})"
SHARE_ROUNDING = 1e-6
"""How far numbers of several outputs, of 32 bits, are from the class shares that they repeat."""
MOST_NODES = 200_000
"""A larger model is not written only to see whether it can be."""
TARGETS = (*MODELS, *DRAWINGS)
SUFFIXES = {
    ".pmml": "pmml",
    ".xml": "pmml",
    ".json": "treewarden_json",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
}


def target_of(file: Path) -> str:
    """Return the format that a file's suffix stands for.

    Raises:
        OutputError: it stands for none.
    """
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        problem = f"unknown suffix {file.suffix!r}" if suffix else "has no suffix"
        raise OutputError(str(file), f"{problem}; use {', '.join(SUFFIXES)}, or add --to FORMAT")
    return SUFFIXES[suffix]


def writable(model: Model) -> tuple[str, ...]:
    """Return the formats of models that can say all that a model holds, the most common one first.

    Each was tried; for a model with more nodes than is worth the time there are none.
    """
    return tuple(_writable(model))


def first_writable(model: Model) -> str | None:
    """Return the most common format of models that can say all that a model holds; None where none was found."""
    return next(_writable(model), None)


def _writable(model: Model) -> Iterator[str]:
    small = sum(len(tree.nodes) for tree in trees_of(model)) <= MOST_NODES
    for target in MODELS if small else ():
        with suppress(OutputError):
            converted(model, target)
            yield target


def converted(model: Model, target: str) -> bytes:
    """Return the model in another format; what is no drawing is read again to see that it says the same.

    Raises:
        OutputError: the format cannot say something that the model holds; names it.
    """
    if target in DRAWINGS:
        return DRAWINGS[target](model)
    if isinstance(model, Ensemble) and model.is_additive:
        raise OutputError(
            model.source,
            f"{target} cannot hold this model, because it is an additive model, not a tree; keep the original file",
        )
    model = _with_shares_alone(model)
    data = _written(model, target)
    try:
        again = load_model(data, model.source)
    except TreeFormatError as error:
        raise OutputError(model.source, f"{target} cannot hold it ({error.problem})") from error
    _check_same(model, again, target)
    return data


def _with_shares_alone(model: Model) -> Model:
    """Return a single tree without the numbers of several outputs, where these are the class shares once more."""
    if not isinstance(model, Tree) or not model.classes:
        return model
    leaves = [node for node in model.nodes if node.outputs is not None]
    if not leaves or any(not _are_shares(node) for node in leaves):
        return model
    return replace(model, nodes=tuple(replace(node, outputs=None) for node in model.nodes))


def _are_shares(node: Node) -> bool:
    shares, outputs = node.class_shares, node.outputs
    if shares is None or outputs is None or len(shares) != len(outputs):
        return False
    pairs = zip(shares, outputs, strict=True)
    return all(abs(share - output) <= SHARE_ROUNDING for share, output in pairs)


def _written(model: Model, target: str) -> bytes:
    if isinstance(model, Tree) and any(node.outputs is not None for node in model.nodes):
        raise OutputError(
            model.source,
            f"{target} cannot store several numbers per leaf; convert a model with one output",
        )
    if target not in writers():
        raise OutputError(
            model.source, f"treewarden cannot write {target}; use {', '.join(TARGETS)}"
        )
    return writers()[target].write(model)


def _check_same(model: Model, again: Model, target: str) -> None:
    """Check that the trees that were written are the ones that are read back: tests, predictions, missing values.

    Raises:
        OutputError: they are not; names the first node that differs.
    """
    was, now = list(trees_of(model)), list(trees_of(again))
    if len(was) != len(now) or isinstance(model, Tree) != isinstance(again, Tree):
        raise OutputError(model.source, f"{target} cannot contain how its trees are combined")
    if isinstance(model, Ensemble) and isinstance(again, Ensemble):
        _check_same_sum(model, again, target)
    for tree, other in zip(was, now, strict=True):
        if tree.rounding and not tree.counts_every_leaf:
            problem = "its thresholds are rounded, and it does not count the records of each leaf"
            raise OutputError(tree.source, f"{problem}; convert a file with all digits")
        if (tree.missing, tree.no_true_child) != (other.missing, other.no_true_child):
            problem = f"{target} cannot express how this tree treats missing values; {OTHER_FORMAT}"
            raise OutputError(tree.source, problem)
        if set(_compared(tree)) != set(_compared(other)):
            problem = (
                f"{target} cannot express how this tree compares its features (as numbers, in 32 bits); "
                f"{OTHER_FORMAT}"
            )
            raise OutputError(tree.source, problem)
        # An end between two 32-bit numbers takes the same records as the one beside it, which is what is written.
        pairs = zip(on_32_bits(tree).nodes, on_32_bits(other).nodes, strict=False)
        wrong = next((node for node, twin in pairs if _core(node) != _core(twin)), None)
        if wrong is not None or len(tree.nodes) != len(other.nodes):
            where = tree.source if wrong is None else tree.where(wrong)
            raise OutputError(where, f"{target} cannot express this node exactly; {OTHER_FORMAT}")


def _compared(tree: Tree) -> list[tuple[str, bool, bool]]:
    return [(feature.name, feature.numeric, feature.single) for feature in tree.used_features()]


def _check_same_sum(model: Ensemble, again: Ensemble, target: str) -> None:
    """Check that the scores are combined as before.

    Raises:
        OutputError: they are not.
    """
    was, now = (
        (
            part.combination,
            part.link,
            part.base,
            [(m.weight, m.output, m.test) for m in part.members],
        )
        for part in (model, again)
    )
    if was != now:
        raise OutputError(model.source, f"{target} cannot say how its scores are combined")


def _core(node: Node) -> tuple[int | None, Predicate, str | float | None, int | None]:
    """Return what decides where records go and what is predicted."""
    return (node.parent, node.test, node.score, node.default_child)
