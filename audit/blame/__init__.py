"""Which published numbers prove people's values: minimal reasons, shares of blame, and the least to withhold."""
