"""Published numbers and the scenarios that reproduce them, with one module per paper or topic."""
