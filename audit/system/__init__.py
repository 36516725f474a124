"""All rows together, checked on the truth."""
