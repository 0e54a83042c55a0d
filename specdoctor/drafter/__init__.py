"""The drafter itself: which target states it was trained on, which it is fed, and whether its checkpoint is whole."""
