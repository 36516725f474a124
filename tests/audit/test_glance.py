"""A glance reads what a full audit reads of leaves and file, and says of nothing else that it passes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.kit.small_audits import auditor, flat_tree, pack_of, people_of
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.leaf_only_audit import glance
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import calls, load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import Verdict

counts = st.lists(
    st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any), min_size=2, max_size=4
)


@given(counts, st.sampled_from(sorted(shipped_packs())))
def test_what_it_reads_is_what_an_audit_reads(leaves, name):
    tree, pack = flat_tree(leaves), load_pack(name)
    people = people_of(tree)
    brief = glance(tree, people, Knowledge(), calls(pack), leaks=())
    whole = auditor(people, pack)(tree)
    assert brief.full.readings.items() <= whole.full.readings.items()
    if judge(brief, pack).verdict is Verdict.FAIL:
        assert judge(whole, pack).verdict is Verdict.FAIL


def test_nothing_passes_at_a_glance_where_an_estimate_is_asked_for():
    tree = flat_tree([[50, 50, 50], [60, 50, 40]])
    pack = pack_of(("k_anonymity", "at_least", 5), ("confidence", "at_most", 0.9))
    people = people_of(tree)
    assert judge(auditor(people, pack)(tree), pack).verdict is Verdict.PASS
    brief = glance(tree, people, Knowledge(), calls(pack), leaks=())
    assert judge(brief, pack).verdict is Verdict.UNDETERMINED
