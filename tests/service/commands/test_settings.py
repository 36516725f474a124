"""What cannot be set is said by the name of its variable before anything starts."""

import pytest
from click.testing import CliRunner

from treewarden.cli import cli


@pytest.mark.parametrize("command", ["serve", "worker"])
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TREEWARDEN_PORT", "s3cret", "TREEWARDEN_PORT: "),
        ("TREEWARDEN_LEASE_SECONDS", "12", "TREEWARDEN_HEARTBEAT_SECONDS must be at most half of"),
    ],
)
def test_a_setting_that_cannot_be_is_named(command, name, value, said, tmp_path):
    done = CliRunner().invoke(cli, [command, "--data-dir", str(tmp_path)], env={name: value})
    assert done.exit_code == 4
    assert said in done.output
    assert "s3cret" not in done.output
    assert not list(tmp_path.iterdir())
