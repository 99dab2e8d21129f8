"""The tuner: search spaces, measurement, ledger, search."""
