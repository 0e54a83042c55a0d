"""HTTP calls to a server on this host: where it listens, the key it wants (read here, never sent on), bounded GETs."""

import os
import re
import socket
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from specdoctor.remote.parts.procfs import Socket, link_of, proc_path, read_text

KEY_FLAGS = ("--api-key", "--api_key", "--admin-api-key", "--admin_api_key")
KEY_VARIABLES = ("SGLANG_API_KEY", "VLLM_API_KEY", "LLAMA_API_KEY")
Endpoint = NamedTuple("Endpoint", [("address", str), ("port", int), ("tls", bool), ("keys", Tuple[str, ...])])
Connection = Any  # an http.client connection; imported late, as most calls of a program on a host send nothing


def values_of(argv: Sequence[str], *flags: str) -> List[str]:
    """The first value of each occurrence of these flags, in either form (`--flag value`, `--flag=value`)."""
    found: List[str] = []
    for index, word in enumerate(argv):
        flag, equals, value = word.partition("=")
        if flag in flags:
            if equals:
                found.append(value)
            elif index + 1 < len(argv):
                found.append(argv[index + 1])
    return found


def outer_address(fib_trie: str) -> Optional[str]:
    """The address that a network namespace has besides loopback, from its table of local routes."""
    local = re.findall(r"\|-- (\d+\.\d+\.\d+\.\d+)\s+/32 host LOCAL", fib_trie)
    return next((address for address in local if not address.startswith("127.")), None)


def address_of(pid: int, entry: Socket) -> str:
    """Where a listening socket of `pid` is reached from here; a container with a network of its own has another one."""
    space, own = link_of(pid, "ns/net"), link_of(os.getpid(), "ns/net")
    apart = space is not None and own is not None and space != own
    anywhere = {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1" if apart else "::1"}.get(entry.address)
    if anywhere and apart:
        return outer_address(read_text(proc_path(pid, "net/fib_trie")) or "") or anywhere
    return anywhere or (entry.address[7:] if entry.address.startswith("::ffff:") else entry.address)


def endpoint_of(pid: int, entry: Socket, argv: Sequence[str], env: Dict[str, str]) -> Endpoint:
    """How to reach a listening socket of `pid` from this host, with the keys that its server takes."""
    address = address_of(pid, entry)
    keys = values_of(argv, *KEY_FLAGS) + [env[name] for name in KEY_VARIABLES if env.get(name)]
    tls = bool(values_of(argv, "--ssl-certfile", "--ssl-cert-file", "--ssl_certfile"))
    return Endpoint(address, entry.port, tls, tuple(dict.fromkeys(keys)))


def connect(endpoint: Endpoint, timeout_s: float) -> Connection:
    """A connection that is not open yet. A certificate is not checked: the peer is this host."""
    import http.client
    import ssl

    if not endpoint.tls:
        return http.client.HTTPConnection(endpoint.address, endpoint.port, timeout=timeout_s)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(endpoint.address, endpoint.port, timeout=timeout_s, context=context)


def headers_for(key: Optional[str]) -> Dict[str, str]:
    return {"Authorization": "Bearer " + key} if key else {}


def _get_once(
    endpoint: Endpoint, path: str, key: Optional[str], timeout_s: float, limit: int
) -> Dict[str, Union[int, str, None]]:
    import http.client

    deadline = time.monotonic() + timeout_s
    connection = connect(endpoint, timeout_s)
    try:
        connection.request("GET", path, headers=headers_for(key))
        response = connection.getresponse()
        body = b""
        while len(body) < limit and time.monotonic() < deadline:
            piece = response.read(min(65536, limit - len(body)))
            if not piece:
                return {"status": response.status, "body": body.decode("utf-8", "replace"), "error": None}
            body += piece
        error = "cut after %d bytes" % len(body) if len(body) >= limit else "cut after %g s" % timeout_s
        return {"status": response.status, "body": body.decode("utf-8", "replace"), "error": error}
    except socket.timeout:
        return {"status": None, "body": "", "error": "no answer in %g s" % timeout_s}
    except (OSError, http.client.HTTPException) as failure:
        return {"status": None, "body": "", "error": "%s: %s" % (type(failure).__name__, failure)}
    finally:
        connection.close()


def get(
    endpoint: Endpoint, path: str, timeout_s: float = 3.0, limit: int = 1 << 22
) -> Dict[str, Union[int, str, None]]:
    """One GET: {"status", "body", "error"}. Tries the next key while the server answers 401 or 403."""
    reply: Dict[str, Union[int, str, None]] = {}
    for key in endpoint.keys or (None,):
        reply = _get_once(endpoint, path, key, timeout_s, limit)
        if reply["status"] not in (401, 403):
            break
    return reply
