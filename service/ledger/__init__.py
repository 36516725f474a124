"""What happened: the log that cannot be changed unseen, and who is told."""
