"""The records a published model is made of: trees, ensembles, nodes, tests, columns, and what a file gives away."""
