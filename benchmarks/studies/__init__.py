"""Studies that repeat the papers' tables on their data."""
