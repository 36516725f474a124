"""treelite."""
