"""Shortlist to scored tool sets: which tools belong together for a request."""
