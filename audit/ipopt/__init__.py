"""One program as arrays, as a Pyomo model, and the two doors to IPOPT."""
