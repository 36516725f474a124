import pytest

from treewarden.service.ledger.log import signature, verify_signature

SECRET, BODY, AT = "twh_secret", b'{"event": "ping"}', 1_700_000_000


def test_what_was_signed_is_genuine():
    assert verify_signature(SECRET, signature(SECRET, BODY, AT), BODY, AT + 10)


@pytest.mark.parametrize(
    ("secret", "body", "now"),
    [
        ("another", BODY, AT),
        (SECRET, BODY + b" ", AT),
        (SECRET, BODY, AT + 301),
        (SECRET, BODY, AT - 301),
    ],
    ids=["another secret", "another body", "a recording", "from the future"],
)
def test_everything_else_is_not(secret, body, now):
    assert not verify_signature(secret, signature(SECRET, BODY, AT), body, now)


@pytest.mark.parametrize("header", ["", "t=,v1=", "v1=00", f"t={AT}", "t=x,v1=y", f"t={AT},v1=ü"])
def test_a_header_of_another_form_is_not_genuine(header):
    assert not verify_signature(SECRET, header, BODY, AT)
