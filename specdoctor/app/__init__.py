"""The investigation itself: carrying out moves, judging, and the verdict."""
