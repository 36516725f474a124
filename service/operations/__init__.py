"""What keeps a service running: health, metrics, logs, backup."""
