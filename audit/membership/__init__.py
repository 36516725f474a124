"""Membership inference: who of a register of candidates was in the training table, proved from the file alone."""
