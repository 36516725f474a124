"""BigML."""
