"""What is wrong with an attestation or with a key: one class for each, so that whoever asks can tell them apart."""

from __future__ import annotations

from treewarden.ppdm_models.errors import TreewardenError


class AttestationError(TreewardenError):
    """An attestation cannot be made, or is not what is asked for."""


class KeyFileError(AttestationError):
    """A key cannot be made, read, or used."""


class MalformedError(AttestationError):
    """The bytes are no attestation, or one of a schema that is not known."""


class SignatureError(AttestationError):
    """The signature is not by this key, or what was signed was changed."""


class OtherModelError(AttestationError):
    """The attestation speaks of another model."""


class OtherPolicyError(AttestationError):
    """The audit was judged by another policy, or by another version of it."""


class OtherQuestionError(AttestationError):
    """The audit assumed that the adversary knows less, or was told to fail on other clauses."""


class ExpiredError(AttestationError):
    """The attestation is no longer valid, or not yet."""
