"""Claims of differential privacy: what voids them, what each person really lost, and a test from one file."""
