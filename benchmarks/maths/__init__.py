"""How exact and how fast mathematical functions are: `python -m benchmarks.maths`."""
