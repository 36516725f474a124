"""Who: equivalence classes, where they stop in the trees, and how much each record counts."""
