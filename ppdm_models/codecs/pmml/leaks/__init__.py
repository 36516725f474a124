"""What a PMML file gives away beside its trees, found by what it may hold and not by a list of bad places."""
