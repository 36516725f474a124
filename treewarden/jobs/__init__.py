"""One job a command: files in, one call, bytes out."""
