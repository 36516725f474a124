"""Small cases that cross kinds of models with kinds of adversaries, and every table that fits each of them."""
