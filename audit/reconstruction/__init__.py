"""What a file proves of the records it was trained on, to an adversary who has no table at all."""
