"""Trees that parties grow together who hold different columns of the same people."""
