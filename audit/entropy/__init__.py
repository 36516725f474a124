"""The maximum-entropy estimate: blocks, search, certificate."""
