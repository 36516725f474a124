"""H2O: MOJO archives and tree JSON."""
