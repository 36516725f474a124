"""What no world can exceed."""
