"""Exit codes, files on disk, progress."""
