"""The command `treewarden` and its version."""

__version__ = "0.1.0"
