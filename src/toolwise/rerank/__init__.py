"""Shortlist to shortlist: a request and its candidates, put into a better order."""
