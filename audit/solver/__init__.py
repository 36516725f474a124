"""One program solved well and proved, in this process or another."""
