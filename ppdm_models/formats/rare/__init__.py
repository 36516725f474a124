"""Formats of tools that have one or two: R, Weka, H2O, BigML, treelite, learning to rank and others."""

from __future__ import annotations

import re

IN_JSON = (
    b'"model_fields"',
    b'"tree_structure"',
    b'"SplitCodePred"',
    b'"algo_full_name"',
    b'"n_tree_groups"',
    b'"root_node_id"',
    b'"kids"',
    b'"left daughter"',
    b'"splitvarName"',
    b'"ncompete"',
    b"org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
    b'"average_tree_output"',
    b'"term_features"',
)
"""What JSON of BigML, EBM, Eland, gbm, H2O, partykit, R's forests, rpart, Solr and treelite holds."""
IN_TEXT = (
    b"digraph ",
    b"- tree:",
    b"Fitted party:",
    b"Conditional inference tree with",
    b"## LambdaMART",
    b"## MART",
    b"## Random Forests",
    b"Node number 1: ",
    b" node number: ",
    b"node), split, n, ",
    b"<MlrFunction",
    b"double p = Double.NaN;",
    b"Decision Stump",
    b"J48 ",
    b"REPTree",
    b"RandomTree",
    b"Id3",
    b"Alternating decision tree:",
    b"Logistic model tree",
    b"PART decision list",
    b"M5 pruned ",
    b"Random forest of",
)
"""What Graphviz, LTR, partykit, RankLib, rpart, Vespa and Weka print: one of it stands in each such file."""


PMML_ROOT = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]{0,200}\?>\s*)?(<!--[^>]{0,2000}-->\s*)?<PMML[\s>]"
)
"""How a document begins whose root is of PMML: none of these tools writes one."""


def may_hold(data: bytes) -> bool:
    """Return False only where no format of this room is in the bytes."""
    if PMML_ROOT.match(data):
        return False
    first = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1]
    if first in (b"{", b"["):
        return any(mark in data for mark in (*IN_JSON, *IN_TEXT))
    return b"trees/t" in data or any(mark in data for mark in IN_TEXT)
