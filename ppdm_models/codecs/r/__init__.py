"""R: what rpart and party print."""
