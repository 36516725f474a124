"""What is said: one document per audit or repair, and the renderers that turn it into bytes."""
