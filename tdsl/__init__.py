"""tdsl: loop-level tensor programs, proved schedules, tuned code."""
