"""What is allowed: packs of clauses, rules, verdicts, and the remedies for a tree that fails."""
