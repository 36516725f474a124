"""Adversaries in a file of their own, to be asked of beside whatever else the adversary is taken to know."""

from __future__ import annotations

from collections.abc import Sequence

from audit.adversary.knowledge import Knowledge, knowledge_of, toml_of
from ppdm_models.errors import KnowledgeError

TOGETHER = {"adversary", "secret"}


def read_adversaries(data: bytes, where: str) -> Knowledge:
    """Read a TOML file that declares adversaries, and perhaps the secret: ``[[adversary]]`` tables, or one by itself.

    One by itself has its ``name`` and what it ``knows`` at the top of the file, and the name of the file where it
    gives none.

    Raises:
        KnowledgeError: the bytes are not TOML, declare nobody, or say something that is not understood.
    """
    said = toml_of(data, where)
    if "adversary" not in said and "knows" in said:
        one = {key: value for key, value in said.items() if key != "secret"}
        one = {"name": where.rpartition("/")[2].removesuffix(".toml"), **one}
        said = {"adversary": [one], **{key: said[key] for key in ("secret",) if key in said}}
    if "adversary" not in said:
        problem = "declares no adversary; say what he knows: knows = [...], or [[adversary]] tables"
        raise KnowledgeError(where, problem)
    more = sorted(said.keys() - TOGETHER)
    if more:
        problem = f"{more[0]!r} is about everybody; say it in the file of --knowledge, here only who knows what"
        raise KnowledgeError(where, problem)
    return knowledge_of(said, where)


def with_adversaries_of(knowledge: Knowledge, files: Sequence[tuple[Knowledge, str]]) -> Knowledge:
    """Return knowledge with the adversaries of further files, each with its name.

    Raises:
        KnowledgeError: two of them name different secrets.
    """
    everyone, secret = list(knowledge.adversaries), knowledge.secret
    for more, where in files:
        if more.secret and secret and more.secret != secret:
            problem = f"the secret is {more.secret.column!r} here and {secret.column!r} elsewhere; keep one of them"
            raise KnowledgeError(where, problem)
        everyone += more.adversaries
        secret = secret if more.secret is None else more.secret
    return knowledge.model_copy(update={"adversaries": tuple(everyone), "secret": secret})
