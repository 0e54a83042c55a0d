"""A drafter calculated without its engine: its forward pass, its chains on stored states, the search for its wiring."""
