"""What can be said about the masses: the case, rows, the arithmetic of impurity, and what a learner compared."""
