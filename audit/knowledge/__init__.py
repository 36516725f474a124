"""What the adversary is assumed to know."""
