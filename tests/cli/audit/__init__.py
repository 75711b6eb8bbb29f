"""The commands of the audit that people and their numbers need."""
