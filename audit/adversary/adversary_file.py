"""Adversaries in a file of their own, to be asked of beside whatever else the adversary is taken to know."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from treewarden.audit.adversary.declared import Declared
from treewarden.audit.adversary.knowledge import Knowledge, knowledge_of, toml_of
from treewarden.audit.adversary.slips import keys_of
from treewarden.ppdm_models.errors import KnowledgeError

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
        _check_of_one(said, where)
        one = {key: value for key, value in said.items() if key != "secret"}
        one = {"name": where.rpartition("/")[2].removesuffix(".toml"), **one}
        said = {"adversary": [one], **{key: said[key] for key in ("secret",) if key in said}}
    if not said.get("adversary"):
        problem = "declares no adversary; say what he knows: knows = [...], or [[adversary]] tables"
        raise KnowledgeError(where, problem)
    _check_no_more(said.keys() - TOGETHER, where)
    for one in said["adversary"] if isinstance(said["adversary"], list) else ():
        _check_of_one(one, where)
    return knowledge_of(said, where)


def _check_of_one(said: object, where: str) -> None:
    """Check that nothing is said with an adversary that is about everybody."""
    if isinstance(said, dict):
        of_all = set(keys_of(Knowledge.model_fields)) - {*TOGETHER, *Declared.model_fields}
        _check_no_more(said.keys() & of_all, where)


def _check_no_more(keys: Collection[str], where: str) -> None:
    if keys:
        problem = f"{min(keys)!r} is about everybody; say it in the file of --knowledge, here only who knows what"
        raise KnowledgeError(where, problem)


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
