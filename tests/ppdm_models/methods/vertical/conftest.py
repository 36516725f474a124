"""What the parties of a session know each other by."""

import pytest

from tests.ppdm_models.methods.vertical.meetings import NAMES
from treewarden.ppdm_models.methods.vertical.transport import make_certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, ["miner", *NAMES])
    return folder
