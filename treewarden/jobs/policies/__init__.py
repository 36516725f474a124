"""What is done with policies themselves: their cases are run."""
