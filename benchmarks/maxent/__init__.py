"""Time and memory of the maximum-entropy estimate, against other ways to the same answer."""
