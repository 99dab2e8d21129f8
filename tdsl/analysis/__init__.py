"""Facts about IR: integer sets, proofs, accesses, costs."""
