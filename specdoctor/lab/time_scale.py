"""A world whose every modelled duration is stretched or shortened alike, for tests that cannot wait."""

from __future__ import annotations

from specdoctor.lab.world import Startup, World


def scaled(world: World, scale: float) -> World:
    """The same world on a machine `1 / scale` times as fast, start-up included. Scale 1 returns it unchanged."""
    if scale == 1.0:
        return world
    physics = world.physics
    seconds = {name: value * scale for name, value in physics.startup.model_dump().items() if name.endswith("_s")}
    noise = physics.noise.model_copy(
        update={
            "hiccup_ms": physics.noise.hiccup_ms * scale,
            "drift_period_s": physics.noise.drift_period_s * scale,
        }
    )
    environment = tuple(
        effect.model_copy(update={"extra_ms": effect.extra_ms * scale}) for effect in physics.environment
    )
    slower = physics.model_copy(
        update={
            "startup": Startup.model_validate({**physics.startup.model_dump(), **seconds}),
            "noise": noise,
            "environment": environment,
            "gpu_factor": physics.gpu_factor * scale,
            "host_factor": physics.host_factor * scale,
        }
    )
    models = tuple(model.model_copy(update={"load_s": model.load_s * scale}) for model in world.models)
    return world.model_copy(update={"physics": slower, "models": models})
