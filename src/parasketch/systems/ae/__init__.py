"""AE: the plainest of the comparison systems, a Transformer through one vector."""
