import pytest

from treewarden.service.errors import InvalidError
from treewarden.service.vault.addresses import target

INNER = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "::1",
    "fe80::1%eth0",
    "fd00::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "::7f00:1",
    "::ffff:0:7f00:1",
    "64:ff9b:1::7f00:1",
    "fec0::1",
    "3fff::1",
    "192.0.0.192",
    "192.88.99.1",
    "168.63.129.16",
]
PUBLIC = ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822"]


def finds(*addresses):
    return lambda host, port: addresses


@pytest.mark.parametrize("address", INNER)
def test_a_name_that_leads_inside_is_refused(address):
    with pytest.raises(InvalidError, match="internal network"):
        target("https://hook.example.org/", (), finds(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_a_name_that_leads_outside_is_called(address):
    assert target("https://hook.example.org/", (), finds(address)).address == address


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f000001", "017700000001", "[::1]", "[::ffff:7f00:1]"]
)
def test_an_inner_address_is_refused_however_it_is_written(host):
    with pytest.raises(InvalidError):
        target(f"https://{host}/", ())


def test_one_inner_address_among_others_is_enough():
    with pytest.raises(InvalidError, match="internal network"):
        target("https://hook.example.org/", (), finds("93.184.216.34", "127.0.0.1"))


def test_the_address_that_was_checked_is_the_one_that_is_called():
    found = target("https://Hook.Example.org:8443/a?b=c", (), finds("93.184.216.34"))
    assert (found.address, found.port, found.path) == ("93.184.216.34", 8443, "/a?b=c")
    assert found.authority == "hook.example.org:8443"


@pytest.mark.parametrize(
    "url",
    [
        "http://hook.example.org/",
        "file:///etc/passwd",
        "https://",
        "https://a b/",
        "https://user:pass@hook.example.org/",
        "https://hook.example.org/#x",
        "https://hook.example.org:99999/",
        "https://hook.example.org/\r\nX: y",
        "https://hook.example.org/h\u00f6ren",
        "https://hook.example.org/?a=\u2028",
        "gopher://hook.example.org/",
        "https://[::1",
    ],
)
def test_what_is_no_https_address_is_refused(url):
    with pytest.raises(InvalidError):
        target(url, (), finds("93.184.216.34"))


def test_hosts_that_the_administrator_named_may_be_inside():
    found = target("http://hooks.internal:8000/x", ("hooks.internal",), finds("10.0.0.5"))
    assert (found.scheme, found.address) == ("http", "10.0.0.5")
    with pytest.raises(InvalidError):
        target("http://other.internal/x", ("hooks.internal",), finds("10.0.0.5"))


def test_a_host_without_addresses_is_refused():
    with pytest.raises(InvalidError, match="is not found"):
        target("https://hook.example.org/", (), finds())
