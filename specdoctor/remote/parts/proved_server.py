"""The server that an order names, proved again on the host, with the way to reach it and the key it wants."""

from typing import Any, Dict, List, NamedTuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.local_http import Endpoint, endpoint_of
from specdoctor.remote.parts.procfs import alive, all_stats, argv_of, environ_of, listeners_of, tree_of
from specdoctor.remote.parts.redaction import mask_argv, mask_env, spellings

ProvedServer = NamedTuple(
    "ProvedServer", [("pid", int), ("start_ticks", int), ("endpoint", Endpoint), ("secrets", List[str])]
)


def proved(server: Dict[str, Any]) -> ProvedServer:
    """Raises Refusal unless the pid started at these ticks and its tree listens on the port."""
    pid, ticks, port = int(server["pid"]), int(server["start_ticks"]), int(server["port"])
    if not alive(pid, ticks):
        raise Refusal("not-the-server", "process %d is gone or is another one now" % pid, "look at the host again")
    entries = [entry for _, entry in listeners_of(tree_of(pid, all_stats())) if entry.port == port]
    if not entries:
        raise Refusal("not-the-server", "port %d does not belong to process %d" % (port, pid), "look at the host again")
    argv, env = argv_of(pid) or [], environ_of(pid) or {}
    secrets = set(endpoint_of(pid, entries[0], argv, env).keys)
    mask_argv(argv, secrets)
    mask_env(env, (), secrets)
    return ProvedServer(pid, ticks, endpoint_of(pid, entries[0], argv, env), list(spellings(secrets)))
