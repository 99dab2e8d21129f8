"""Benchmarks: every figure in the documents comes from a command in this folder."""
