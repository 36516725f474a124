"""The file of waivers: what is understood, and what is refused with the waiver and the key that are wrong."""

from __future__ import annotations

from datetime import date

import pytest

from treewarden.policies.exceptions.waivers import check_lengths, read_waivers
from treewarden.ppdm_models.errors import WaiverError

LEAF = "0123456789abcdef01234567"
DIGEST = f"sha256:{'ab' * 32}"
TODAY = date(2026, 1, 1)


def waiver(**changes):
    """Return a waiver as TOML; a key that is None is left out."""
    keys = {
        "clause": '"small"',
        "leaf": f'"{LEAF}"',
        "reason": '"agreed"',
        "owner": '"A. Owner"',
        "ticket": '"T-1"',
        "expires": "2026-03-01",
        **changes,
    }
    said = "\n".join(f"{key} = {value}" for key, value in keys.items() if value is not None)
    return f"[[waiver]]\n{said}\n"


def read(*waivers):
    return read_waivers("\n".join(waivers).encode(), "w.toml")


def test_a_file_of_waivers_is_read_in_its_order():
    found = read(waiver(), waiver(leaf=f'"{LEAF}#2"', model='"loan"', granted="2026-01-01"))
    assert [(each.number, each.leaf, each.model) for each in found.each] == [
        (1, LEAF, None),
        (2, f"{LEAF}#2", "loan"),
    ]
    assert found.each[0].expires == date(2026, 3, 1)


def test_a_byte_order_mark_says_nothing():
    assert read(f"\ufeff{waiver()}") == read(waiver())


def test_a_check_is_named_as_in_a_policy_too():
    assert read(waiver().replace("clause =", "check =")) == read(waiver())


def test_an_empty_file_waives_nothing():
    assert read().each == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expires": None}, r"w\.toml: waiver 2: 'expires' is missing; add the last day"),
        (
            {"expires": '"2026-03-01"'},
            "waiver 2: expires: is '2026-03-01'; give the last day .* without quotes",
        ),
        ({"expires": "2026-03-01T10:00:00"}, "waiver 2: expires: is datetime"),
        ({"expires": "true"}, "waiver 2: expires: is True"),
        ({"granted": '"today"'}, "waiver 2: granted: is 'today'; give the day"),
        ({"reason": None}, "waiver 2: 'reason' is missing"),
        ({"reason": '"  "'}, "waiver 2: reason: is '  '; give why"),
        ({"owner": '""'}, "waiver 2: owner: is ''"),
        ({"ticket": None}, 'waiver 2: ticket: is missing; add .*, for example ticket = "RISK-12"'),
        ({"check": '"small"'}, "waiver 2: uses both check and clause; keep one"),
        ({"ticket": "7"}, "waiver 2: ticket: is 7; give where"),
        ({"clause": "1"}, "waiver 2: clause: is 1"),
        ({"leaf": None}, r"waiver 2: add leaf \(for one leaf\) or digest"),
        ({"leaf": '""'}, "waiver 2: leaf: is empty"),
        ({"leaf": '"0123"'}, "waiver 2: leaf: is '0123'; give a fingerprint"),
        ({"leaf": f'"{LEAF}#1"'}, "waiver 2: leaf: is .*give a fingerprint"),
        ({"leaf": f'"{LEAF}\\n"'}, "waiver 2: leaf: is .*give a fingerprint"),
        ({"leaf": '"*"'}, r"waiver 2: leaf: is '\*'"),
        (
            {"leaf": None, "digest": '"sha256:*"'},
            r"waiver 2: digest: is 'sha256:\*'; give \"sha256:\"",
        ),
        (
            {"expire": "2026-03-01", "expires": None},
            "waiver 2: unknown key 'expire'; use clause, leaf",
        ),
        ({"number": "1"}, "waiver 2: unknown key 'number'"),
        ({"worst": "nan"}, "waiver 2: worst: is nan; give a number"),
        ({"model": '""'}, "waiver 2: model: is ''"),
    ],
)
def test_what_is_not_understood_is_named_with_what_to_do(changes, message):
    with pytest.raises(WaiverError, match=message):
        read(waiver(clause='"other"'), waiver(**changes))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "not valid TOML"),
        (b"[[waiver]", "not valid TOML"),
        (b"waiver = 3", "'waiver' is not a list of tables"),
        (b"waiver = [3]", "'waiver' is not a list of tables"),
        (b"[waiver]\nclause = 'x'", "'waiver' is not a list of tables"),
        (b"[[waivers]]", r"unknown key 'waivers'; each waiver begins with \[\[waiver\]\]"),
        (b"a = " + b"[" * 100_000, "not valid TOML"),
    ],
)
def test_what_is_no_file_of_waivers_is_refused(data, message):
    with pytest.raises(WaiverError, match=message):
        read_waivers(data, "w.toml")


@pytest.mark.parametrize(
    "names", [(None, None), (None, '"loan"'), ('"loan"', None), ('"loan"', '"loan"')]
)
@pytest.mark.parametrize("target", [{}, {"leaf": None, "digest": f'"{DIGEST}"'}])
def test_two_waivers_for_one_finding_are_refused(names, target):
    twice = [waiver(**{**target, "model": name}) for name in names]
    with pytest.raises(
        WaiverError, match="waiver 2: clause: 'small' is waived in .* by waiver 1 already"
    ):
        read(*twice)


def test_one_clause_may_be_waived_in_two_models():
    assert len(read(waiver(model='"a"'), waiver(model='"b"')).each) == 2


@pytest.mark.parametrize(
    ("changes", "days"),
    [
        ({"expires": "2026-01-31"}, 30),
        ({"expires": "2026-01-31", "granted": "2026-01-01"}, 30),
        ({"expires": "2025-12-31", "granted": "2025-12-01"}, 30),
        ({"expires": "9999-12-31"}, 10_000_000),
    ],
)
def test_a_waiver_may_hold_as_long_as_the_pack_says(changes, days):
    check_lengths(read(waiver(**changes)), days, TODAY)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"expires": "2026-02-01"},
            "expires: 2026-02-01 is more than 30 days after today; .* allows 2026-01-31",
        ),
        (
            {"expires": "2026-01-10", "granted": "2025-12-01"},
            "more than 30 days after it was granted on 2025-12-01; .* allows 2025-12-31",
        ),
    ],
)
def test_a_waiver_that_holds_longer_is_refused(changes, message):
    with pytest.raises(WaiverError, match=message):
        check_lengths(read(waiver(**changes)), 30, TODAY)
