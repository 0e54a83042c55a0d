"""Stored states of a target: the files they lie in, and the layouts that trainers give them."""
