"""Archives that are held in memory."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping


def zip_files(files: Mapping[str, bytes | str]) -> bytes:
    """Return files as a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()
