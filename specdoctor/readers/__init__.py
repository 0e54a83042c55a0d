"""Readers of files that lie beside a server: each tells by content whether a file is of its kind, and what it says."""
