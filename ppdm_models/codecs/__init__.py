"""How each producer writes trees, one room a producer; the formats that users name stand beside, in `formats`."""
