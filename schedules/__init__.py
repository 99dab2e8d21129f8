"""Schedules: records of primitives that rewrite a function, checked."""
