"""The versioned document."""
