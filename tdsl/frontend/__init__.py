"""Python functions to IR."""
