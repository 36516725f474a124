"""The estimate, judged by code and methods that are not the product's."""
