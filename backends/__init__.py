"""Backends: lowering, code generation, compilation, reference interpreter."""
