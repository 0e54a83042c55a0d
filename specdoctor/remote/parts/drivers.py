"""The driver of each kind of keeper."""

from typing import Any, Dict

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.driver_commands import Commands
from specdoctor.remote.parts.driver_container import Docker, Podman
from specdoctor.remote.parts.driver_plain import Plain
from specdoctor.remote.parts.driver_systemd import Systemd

DRIVERS = {driver.kind: driver for driver in (Plain, Systemd, Docker, Podman, Commands)}


def driver_of(record: Dict[str, Any]) -> Plain:
    """The driver for a recorded server, or for an order (both name the keeper). Raises Refusal for an unknown kind."""
    keeper = record.get("keeper") or {"kind": Plain.kind}
    if keeper["kind"] not in DRIVERS:
        raise Refusal("no-driver", "nothing is known here of servers kept by %s" % keeper["kind"])
    return DRIVERS[keeper["kind"]](keeper)
