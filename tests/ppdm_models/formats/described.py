"""Hides something in every place of a skops description, and asks where nobody would notice it."""

import io
import json
import zipfile

from tests.kit.tiers import few
from tests.ppdm_models.formats.accounting import QUICK, content
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.side_channels import LeakKind

SECOND = 100
"""So many places of a description are tried in the second tier; there may be five times as many."""
ALL = frozenset(LeakKind)
SECRETS = ('"ann 44 hiv"', "440.0712345678901", "1234567890123")
TEXT = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "__id__": 999}
TEXT |= {"content": '"ann 44 hiv"', "is_json": True}


def cleaned(data):
    return open_model(data, "m.skops").opened.without(ALL)


def parts_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(files["schema.json"]), files


def written(schema, files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in (files | {"schema.json": json.dumps(schema, indent=2).encode()}).items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, body)
    return out.getvalue()


def nodes_of(part, path=()):
    """Yield every described object of a file, with the names that lead to it."""
    pending = [(path, part)]
    while pending:
        path, part = pending.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield path, part
            pending += [((*path, key), value) for key, value in part.items()]
        elif isinstance(part, list):
            pending += [((*path, 0), value) for value in part]


def first_of_each(schema):
    """Yield the first object of each name: trees and items of a list are all alike."""
    seen = set()
    for path, part in nodes_of(schema):
        if path not in seen:
            seen.add(path)
            yield path, part


def leaks_in(file):
    return [(leak.kind, leak.where, leak.what) for leak in file.leaks]


def unnoticed(clean):
    """Return what could be hidden in a clean file so that it is read as the same model, with no more leaks.

    The quick tier tries a part of it: tests that ask are ``in_both``.
    """
    file = open_model(clean, "m.skops")
    known, model = leaks_in(file), content(file.model)
    schema, files = parts_of(clean)

    def is_unnoticed():
        try:
            changed = open_model(written(schema, files), "m.skops")
        except TreewardenError:
            return False
        return leaks_in(changed) == known and content(changed.model) == model

    passed = []
    for path, part, key, secret in few(hidings(schema), QUICK, SECOND):
        was = dict(part)
        part[key] = secret
        if isinstance(secret, dict):
            types = was["key_types"]["content"]
            part["key_types"] = was["key_types"] | {"content": [*types, *types[:1]]}
        if is_unnoticed():
            passed.append((path[-4:], key, secret))
        part.clear()
        part.update(was)
    return passed


def hidings(schema):
    """Yield what can be hidden in a description: in which object, under which key, and what is put there."""
    loaders = set()
    for path, part in list(first_of_each(schema)):
        if part["__loader__"] == "JsonNode":
            for secret in SECRETS:
                yield path, part, "content", secret
        if part["__loader__"] not in loaders:
            for key in ("__class__", "__module__", "ann", "type"):
                yield path, part, key, "ann 44 hiv"
        loaders.add(part["__loader__"])
        inner = part.get("content")
        if part["__loader__"] == "DictNode":
            yield path, part, "content", {**inner, "ann": TEXT}
        elif isinstance(inner, list):
            yield path, part, "content", [*inner, TEXT]
