"""Tree-pattern-preserving sanitisation of a table."""
