"""Of which release a statement is, in words; apart, as reports are written where nothing is computed."""

ALONE = "{} by itself"
WITH_OTHERS = "{} with all releases"
