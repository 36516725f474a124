"""A pair of keys, and an attestation of the small model, with what is needed to check it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from treewarden.jobs.attesting.keys import make_pair
from treewarden.policies.pack import Pack, load_pack


@dataclass(frozen=True)
class Attesting:
    """The files of a test, a pair of keys, and a way to attest."""

    files: object
    key: Path
    public: bytes
    pack: Pack

    @property
    def model(self):
        return self.files.model

    def attest(self, *more, policy="lenient", name="a.json"):
        path = self.files.folder / name
        told = ("--policy", self.files.policy(policy), "--key", self.key, "-o", path)
        outcome = self.files.run("attest", *told, "--force", "--no-worlds", *more)
        assert outcome.exit_code in (0, 1, 3), outcome.output
        return path.read_bytes()


@pytest.fixture
def attesting(files):
    key = files.folder / "key.pem"
    public = make_pair(key)
    return Attesting(files, key, public.read_bytes(), load_pack(files.policy("lenient")))
