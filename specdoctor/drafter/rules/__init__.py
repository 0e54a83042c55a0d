"""Which target states each engine captures for a drafter, by version: one file of data for an engine."""
