"""Measurements: each module writes a file into ``results/``; run as ``python -m benchmarks.NAME``."""
