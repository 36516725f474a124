"""What the adversary knows by a constraint stands in the constraint's own file, and reports only print it."""

import pytest

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.system.system import kinds_of_facts

TOLD = {
    "marginal": ({"marginal": True}, "How common each value of “flu” is overall"),
    "accuracy": ({"accuracy": True}, "How accurate the tree is on the table overall"),
    "leaf_label": (
        {"strict_labels": True},
        "That each leaf’s label is strictly its most common value, never a tie",
    ),
    "split_choice": (
        {"split": "gini"},
        "That each split was chosen by the Gini index, so that no other split would have been better",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_constraint_says_what_is_known_by_it_where_it_is_known(name):
    known, sentence = TOLD[name]
    words = kinds_of_facts()[name].words
    assert list(words(Knowledge(**known), "“flu”")) == [sentence]
    assert sentence not in list(words(Knowledge(split="none"), "“flu”"))


def test_no_constraint_but_these_has_a_sentence():
    known = Knowledge(marginal=True, accuracy=True, strict_labels=True, split="gini")
    assert {n for n, kind in kinds_of_facts().items() if list(kind.words(known, "x"))} == set(TOLD)
