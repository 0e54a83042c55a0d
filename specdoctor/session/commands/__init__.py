"""One file for each command of the session; each exposes `command`."""
