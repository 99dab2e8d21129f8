"""The loop IR: nodes, affine forms, dims, walks, printer, verifier."""
