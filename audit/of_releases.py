"""Of which release a statement is, in words; apart, as reports are written where nothing is computed."""

ALONE = "{} by itself"
WITH_OTHERS = "{} with all releases"


def of_release(name: str, said: str) -> str:
    """Return what is said of a release with its name before it, where that does not stand there by itself."""
    return said if said.startswith(f"{name}: ") else f"{name}: {said}"
