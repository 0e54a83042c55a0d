"""Searches for the best setting on worlds drawn at random, on a virtual clock, held against the noise-free truth."""

from __future__ import annotations

from specdoctor.lab.random_world import random_world
from specdoctor.lab.world import Noise, World

SPECULATION = ("--speculative-num-steps", "--speculative-eagle-topk", "--speculative-num-draft-tokens")


def noisy_world(seed: int, cv: float) -> World:
    """The world of a seed whose steps scatter by `cv`, and whose launches drift by as much against each other."""
    world = random_world(seed)
    noise = Noise(cv=cv, drift_cv=cv, drift_period_s=3600.0)
    return world.model_copy(update={"physics": world.physics.model_copy(update={"noise": noise}), "history": ()})
