"""What tests of several rooms share: tiers, and small helpers that would stand in each of them otherwise."""
