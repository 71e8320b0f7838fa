"""Comparison systems behind one small interface: fit, generate, save, load."""
