"""What the numbers and tests of a tree mean, and whether they add up."""
