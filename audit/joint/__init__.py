"""What the leaves of all trees of a model, or of several, prove together: rows over people, and what follows."""
