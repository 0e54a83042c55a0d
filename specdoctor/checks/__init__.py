"""Checks: one question each to what was read. Pure; a check has no way to the server."""
