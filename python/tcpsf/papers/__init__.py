"""Published numbers, and the scenarios that reproduce them, one module a paper."""
