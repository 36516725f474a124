"""The commands that run a service: found by the command line, and imported by nothing else."""
