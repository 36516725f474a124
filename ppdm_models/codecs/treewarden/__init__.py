"""treewarden's own JSON."""
