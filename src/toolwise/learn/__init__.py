"""Data -> weights.  The only room that imports torch, and only inside functions."""
