"""Keys: made once, readable by nobody else, and refused where they are none."""

from __future__ import annotations

import stat

import pytest
from click.testing import CliRunner

from tests.kit.run import run_command
from treewarden.cli import cli
from treewarden.jobs.attesting.keys import (
    PASSPHRASE,
    KeyFileError,
    make_pair,
    private_key,
    public_key,
)


def test_only_the_owner_reads_the_private_key(tmp_path):
    make_pair(tmp_path / "key.pem")
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600


@pytest.mark.parametrize("there", ["key.pem", "key.pem.pub"])
def test_no_key_is_overwritten(tmp_path, there):
    (tmp_path / there).write_bytes(b"mine")
    with pytest.raises(KeyFileError, match="never overwritten"):
        make_pair(tmp_path / "key.pem")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_bytes() == b"mine"


def test_a_passphrase_is_needed_again(tmp_path):
    make_pair(tmp_path / "key.pem", "secret")
    data = (tmp_path / "key.pem").read_bytes()
    assert private_key(data, "key", "secret") is not None
    for wrong in (None, "other"):
        with pytest.raises(KeyFileError):
            private_key(data, "key", wrong)


def test_the_command_takes_the_passphrase_from_the_environment(tmp_path):
    told = ["attest", "--make-key", str(tmp_path / "key.pem")]
    outcome = CliRunner().invoke(cli, told, env={PASSPHRASE: "secret"})
    assert outcome.exit_code == 0
    assert "not encrypted" not in outcome.stdout
    assert b"ENCRYPTED" in (tmp_path / "key.pem").read_bytes()


def test_the_command_overwrites_no_key(tmp_path):
    (tmp_path / "key.pem").write_bytes(b"mine")
    outcome = run_command("attest", "--make-key", tmp_path / "key.pem")
    assert outcome.exit_code == 4
    assert "never overwritten" in outcome.stderr


def test_a_pair_is_not_made_in_a_folder_that_is_not_there(tmp_path):
    told = ["attest", "--make-key", str(tmp_path / "keys" / "key.pem")]
    outcome = run_command(*told)
    assert outcome.exit_code == 4
    assert "keys: there is no such folder; create it: mkdir " in outcome.stderr


@pytest.mark.parametrize(
    "data", [b"", b"-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----\n"]
)
def test_what_is_no_key_is_refused(data):
    with pytest.raises(KeyFileError):
        public_key(data)
    with pytest.raises(KeyFileError):
        private_key(data, "key")


def test_a_private_key_is_no_public_one(tmp_path):
    public = make_pair(tmp_path / "key.pem").read_bytes()
    with pytest.raises(KeyFileError):
        public_key((tmp_path / "key.pem").read_bytes())
    with pytest.raises(KeyFileError):
        private_key(public, "key")
