"""Facts that hold for whole records only, in whole numbers."""
