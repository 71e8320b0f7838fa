"""Whole files of texts: reading them row by row, and an output that is never lost, mixed up or written twice."""
