"""Checks of a drafter's checkpoint, one file each with a module-level `check`."""
