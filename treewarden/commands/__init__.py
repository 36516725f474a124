"""The sub-commands of ``treewarden``: one file each, exporting COMMAND."""
