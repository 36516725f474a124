"""Membership inference: who of a register of candidates was in the training table, proved from the file alone."""

from __future__ import annotations

from treewarden.audit.reading import Undetermined

NO_REGISTER = Undetermined("no register was given (--population FILE)")
