"""Judges that tests and soundness runs share: an independent way to the right answer, tried on drawn cases."""
