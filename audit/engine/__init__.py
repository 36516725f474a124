"""One problem of rows over groups of people, and all that is proved of it: bounds, witnesses and the estimate."""
