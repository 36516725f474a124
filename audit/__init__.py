"""What an adversary can infer about the people behind a published tree."""
