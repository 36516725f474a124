"""How files and tables become facts, judged by running the learner again on every table."""
