"""Toolkit for whoever writes a format: bounded JSON, XML and text, nodes put in order."""
