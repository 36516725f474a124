"""Who asks: accounts, passwords, tokens, sessions, and what each role may do."""
