"""Published decision trees, the tables they were trained on, and the privacy methods that change them."""
