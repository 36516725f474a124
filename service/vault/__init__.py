"""What is kept as bytes, sealed with a key of its own."""
