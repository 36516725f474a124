"""Packs that extend others: clauses are put over those of the same id, and never looser without a reason."""

import pytest

from treewarden.policies.clause import Base
from treewarden.policies.pack import load_pack, read_pack
from treewarden.ppdm_models.errors import PolicyError

HEAD = 'name = "mine"\nversion = "1"\nextends = "standard"\n'
BASE = """
name = "base"
version = "3"
title = "Base"
[waivers]
longest_days = 90
[[clause]]
id = "k"
measure = "k_anonymity"
rule = "at_least"
limit = 10
why = "small"
[[clause]]
id = "sure"
measure = "confidence"
rule = "at_most"
limit = 0.9
severity = "warning"
[[clause]]
id = "mix"
any = [
    { measure = "k_anonymity", rule = "at_least", limit = 20 },
    { measure = "label_disclosure", rule = "at_most", limit = 0.8 },
]
scope = "leaf"
"""


def over(tmp_path, *lines, base=BASE):
    (tmp_path / "base.toml").write_text(base)
    text = 'name = "mine"\nversion = "1"\nextends = "base.toml"\n' + "\n".join(lines)
    (tmp_path / "mine.toml").write_text(text)
    return load_pack(str(tmp_path / "mine.toml"))


def refusal(tmp_path, *lines):
    with pytest.raises(PolicyError) as raised:
        over(tmp_path, *lines)
    return str(raised.value)


def clause(name, *lines):
    return "\n".join(["[[clause]]", f'id = "{name}"', *lines])


def of(pack, name):
    return next(each for each in pack.clauses if each.id == name)


def test_a_pack_that_says_nothing_more_asks_for_the_same():
    mine, standard = read_pack(HEAD.encode(), "mine.toml"), load_pack("standard")
    assert mine.clauses == standard.clauses
    assert mine.title == standard.title
    assert mine.bases == (Base(name="standard", version=standard.version, digest=standard.digest),)


def test_a_clause_of_the_same_id_is_put_over_field_by_field(tmp_path):
    mine = over(tmp_path, clause("k", "limit = 15"))
    assert (of(mine, "k").limit, of(mine, "k").why, of(mine, "k").measure) == (
        15,
        "small",
        "k_anonymity",
    )
    assert [each.id for each in mine.clauses] == ["k", "sure", "mix"]
    assert mine.waivers.longest_days == 90


def test_a_new_clause_stands_behind_those_of_the_base(tmp_path):
    more = clause("leaks", 'measure = "side_leaks"', 'rule = "at_most"', "limit = 0")
    assert [each.id for each in over(tmp_path, more).clauses] == ["k", "sure", "mix", "leaks"]


LOOSER = {
    "limit": (
        clause("k", "limit = 5"),
        "check 'k': limit: 5 is looser than 10 in 'base'; give 10 or more, or say why: ",
    ),
    "limit of a maximum": (
        clause("sure", "limit = 1"),
        "check 'sure': limit: 1 is looser than 0.9 in 'base'; give 0.9 or less",
    ),
    "severity": (
        clause("k", 'severity = "note"'),
        "check 'k': severity: this requires less than 'base' does; leave it out, or say why: ",
    ),
    "when": (
        clause("k", 'when = { model = "tree" }'),
        "check 'k': when: this may require less",
    ),
    "under": (
        clause("k", 'under = { leaf = "labels" }'),
        "check 'k': under: this may require less",
    ),
    "another measure": (
        clause("k", 'measure = "confidence"', 'rule = "at_most"', "limit = 0.5"),
        "check 'k': measure: this may require less",
    ),
    "one more way": (
        clause(
            "k",
            'any = [ { measure = "k_anonymity", rule = "at_least", limit = 10 },'
            ' { measure = "confidence", rule = "at_most", limit = 0.5 } ]',
        ),
        "check 'k': any: this requires less than 'base' does",
    ),
    "waivers": (
        "[waivers]\nlongest_days = 100",
        "[waivers]: longest_days: 100 allows more than the 90 of 'base'; keep that, or say why",
    ),
    "what may be waived": (
        "[waivers]\nundetermined = true",
        "[waivers]: undetermined: True allows more than the False of 'base'",
    ),
}


@pytest.mark.parametrize("what", LOOSER)
def test_nothing_is_loosened_without_a_reason(tmp_path, what):
    lines, said = LOOSER[what]
    assert refusal(tmp_path, lines).startswith(f"mine.toml: {said}")
    assert over(tmp_path, lines + '\nloosen = "the board said so"').name == "mine"


def test_a_reason_to_loosen_is_kept_and_gives_no_leave_to_the_next_pack(tmp_path):
    over(tmp_path, clause("k", "limit = 8", 'loosen = "the board said so"'))
    (tmp_path / "next.toml").write_text(
        'name = "next"\nversion = "1"\nextends = "mine.toml"\n' + clause("k", "limit = 7")
    )
    with pytest.raises(PolicyError, match="limit: 7 is looser than 8 in 'mine'"):
        load_pack(str(tmp_path / "next.toml"))
    (tmp_path / "next.toml").write_text(
        'name = "next"\nversion = "1"\nextends = "mine.toml"\n' + clause("k", "limit = 9")
    )
    found = load_pack(str(tmp_path / "next.toml"))
    assert of(found, "k").loosen == "the board said so"
    assert [each.name for each in found.bases] == ["mine", "base"]


def test_a_clause_is_dropped_for_a_reason_which_is_kept(tmp_path):
    mine = over(tmp_path, clause("sure", "drop = true", 'loosen = "nobody reads it"'))
    assert [each.id for each in mine.clauses] == ["k", "mix"]
    (left_out,) = mine.dropped
    assert (left_out.id, left_out.reason) == ("sure", "nobody reads it")
    assert left_out.clause.id == "sure"
    assert left_out.model_dump() == {"id": "sure", "reason": "nobody reads it"}
    assert mine.digest != over(tmp_path, clause("sure", "drop = true", 'loosen = "other"')).digest


DROPS = {
    "an unknown clause": (
        clause("kk", "drop = true", 'loosen = "x"'),
        "check 'kk': drop: 'base' has no check 'kk' (did you mean 'k'?); it has k, sure, mix",
    ),
    "without a reason": (
        clause("k", "drop = true"),
        "check 'k': drop: a check is dropped only with a reason; say why: ",
    ),
    "and changed": (
        clause("k", "drop = true", "limit = 12", 'loosen = "x"'),
        "check 'k': limit: the check is dropped; ",
    ),
    "not dropped": (
        clause("k", "drop = false"),
        "check 'k': drop: False is not true; write drop = true, or leave it out",
    ),
}


@pytest.mark.parametrize("what", DROPS)
def test_what_cannot_be_dropped_is_refused(tmp_path, what):
    assert refusal(tmp_path, DROPS[what][0]).startswith(f"mine.toml: {DROPS[what][1]}")


def test_a_pack_of_dropped_clauses_alone_is_refused(tmp_path):
    gone = [clause(name, "drop = true", 'loosen = "x"') for name in ("k", "sure", "mix")]
    assert refusal(tmp_path, *gone).startswith("mine.toml: every check is dropped; ")


def test_a_combination_takes_the_place_of_an_atom_and_an_atom_that_of_a_combination(tmp_path):
    both = clause("k", 'all = [ { measure = "k_anonymity", rule = "at_least", limit = 10 },'
                  ' { measure = "confidence", rule = "at_most", limit = 0.5 } ]')  # fmt: skip
    assert of(over(tmp_path, both), "k").form == "all"
    one = clause("mix", 'measure = "k_anonymity"', 'rule = "at_least"', "limit = 20")
    assert of(over(tmp_path, one), "mix").form == "atom"


def test_an_override_that_is_not_understood_is_named_with_its_clause(tmp_path):
    assert refusal(tmp_path, clause("k", "limits = 5")).startswith(
        "mine.toml: check 'k': unknown key 'limits' (did you mean 'limit'?); use id, measure, "
    )
    assert refusal(tmp_path, clause("new", 'measure = "confidence"')) == (
        "mine.toml: check 'new': 'rule' is missing; add it"
    )


def test_a_slip_in_the_id_of_a_check_is_named(tmp_path):
    problem = refusal(tmp_path, clause("sur", "limit = 5"))
    assert problem.startswith("mine.toml: check 'sur': ")
    assert problem.endswith(
        "has no such check (did you mean 'sure'?); correct the id, or add 'measure'"
    )


def test_packs_that_extend_each_other_are_refused(tmp_path):
    for one, other in (("a", "b"), ("b", "a")):
        text = f'name = "{one}"\nversion = "1"\nextends = "{other}.toml"\n'
        (tmp_path / f"{one}.toml").write_text(text)
    with pytest.raises(PolicyError) as raised:
        load_pack(str(tmp_path / "a.toml"))
    assert str(raised.value) == (
        "a.toml: extends: b.toml: extends: a.toml: extends itself through the policies that it extends; "
        "remove one of the extends"
    )


def chain(tmp_path, length):
    (tmp_path / "0.toml").write_text(BASE)
    for number in range(1, length + 1):
        text = f'name = "{number}"\nversion = "1"\nextends = "{number - 1}.toml"\n'
        (tmp_path / f"{number}.toml").write_text(text)
    return load_pack(str(tmp_path / f"{length}.toml"))


def test_a_chain_of_ten_is_read_and_a_longer_one_refused(tmp_path):
    assert len(chain(tmp_path, 10).bases) == 10
    with pytest.raises(
        PolicyError, match="a chain of more than 10 policies that extend each other; extend fewer"
    ):
        chain(tmp_path, 11)


def test_a_base_that_is_not_there_is_named_with_the_pack_that_wants_it(tmp_path):
    (tmp_path / "mine.toml").write_text('name = "m"\nversion = "1"\nextends = "none.toml"\n')
    with pytest.raises(
        PolicyError,
        match=r"mine.toml: extends: none.toml: there is no such file; check the path, or name",
    ):
        load_pack(str(tmp_path / "mine.toml"))


def test_the_path_of_a_base_is_relative_to_the_file_that_names_it(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "base.toml").write_text(BASE)
    text = 'name = "mine"\nversion = "1"\nextends = "../base.toml"\n'
    (tmp_path / "deep" / "mine.toml").write_text(text)
    assert load_pack(str(tmp_path / "deep" / "mine.toml")).bases[0].name == "base"


def test_the_checksum_covers_what_the_base_says(tmp_path):
    one = over(tmp_path).digest
    assert one != over(tmp_path, base=BASE.replace("limit = 10", "limit = 11")).digest


def test_a_clause_that_ends_the_doubt_about_labels_needs_a_reason(tmp_path):
    base = BASE[: BASE.index('[[clause]]\nid = "mix"')].replace('severity = "warning"', "")
    label = clause("label", 'measure = "label_disclosure"', 'rule = "at_most"', "limit = 1")
    with pytest.raises(PolicyError, match="limits certainty and does not limit label_disclosure"):
        over(tmp_path, label, base=base)
    assert over(tmp_path, label, 'loosen = "we know"', base=base).clauses


def test_links_in_a_circle_are_no_policy(tmp_path):
    (tmp_path / "one.toml").symlink_to("two.toml")
    (tmp_path / "two.toml").symlink_to("one.toml")
    with pytest.raises(PolicyError, match="one.toml: its links lead in a circle"):
        load_pack(str(tmp_path / "one.toml"))


def test_another_limit_does_not_keep_where_the_former_one_was_from(tmp_path):
    base = BASE.replace(
        'why = "small"',
        'why = "small"\nsource = "Handbook"\nguidance = [{ document = "Handbook", paragraph = "1" }]',
    )
    mine = of(over(tmp_path, clause("k", "limit = 15"), base=base), "k")
    assert (mine.why, mine.source, mine.guidance) == ("small", "", ())
    kept = of(over(tmp_path, clause("k", 'severity = "error"'), base=base), "k")
    assert (kept.source, len(kept.guidance)) == ("Handbook", 1)
