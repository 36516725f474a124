"""How fast model files are read, as ratios to what reads the same bytes without understanding them."""
