"""The place a user names: `[user@]host[:port]`, or the same as an `ssh://` address."""

from __future__ import annotations

import re
from urllib.parse import unquote

from specdoctor.core.errors import UsageError
from specdoctor.core.model import Frozen

EXAMPLES = "ssh://eagle-a, ssh://me@10.0.0.5:2222, ssh://me@[2001:db8::7]:22, local:"

_SCHEME = "ssh://"
_SHAPE = re.compile(r"^(?:(?P<user>[^@]*)@)?(?P<host>\[[^\[\]]*\]|[^:]*)(?::(?P<port>.*))?$", re.DOTALL)
# Neither a shell nor ssh itself may read anything into a name: it is put into commands and into `Match exec` lines.
_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f'\"`$\\;&<>|(){}*?!/@,]")


class SshDestination(Frozen):
    """Where to go, as it was written: `host` may be an alias of the ssh configuration."""

    host: str
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        return f"{user}{host}{port}"


def parse_destination(text: str) -> SshDestination:
    """Read `[user@]host[:port]` or `ssh://[user@]host[:port]`, IPv6 in brackets (or bare, without a port).

    Raises UsageError with what is wrong and examples; a password in the address is never repeated.
    """
    is_url = text.lower().startswith(_SCHEME)
    rest = text[len(_SCHEME) :].removesuffix("/") if is_url else text
    if rest.count(":") > 1 and "[" not in rest and "@" not in rest and not is_url:
        rest = f"[{rest}]"
    user, found, _ = rest.rpartition("@")
    if found and ":" in user:
        raise _refused("ssh://...", "a password in an address is not accepted; keys are used")
    match = _SHAPE.match(rest)
    if match is None:
        raise _refused(text, "this is no [user@]host[:port]")
    name, host, port = match.group("user"), match.group("host"), match.group("port")
    if name is not None and is_url:
        name = unquote(name)
    bare_host = unquote(host[1:-1]) if host.startswith("[") else host
    return SshDestination(
        host=_checked_name(text, "host", bare_host),
        user=None if name is None else _checked_name(text, "user", name),
        port=None if port is None else _checked_port(text, port),
    )


def _checked_name(text: str, part: str, value: str) -> str:
    if not value:
        raise _refused(text, f"the {part} is empty")
    if value.startswith("-"):
        raise _refused(text, f"the {part} starts with a dash and would be read as an option")
    bad = _FORBIDDEN.search(value)
    if bad:
        raise _refused(text, f"the {part} contains {bad.group()!r}")
    return value


def _checked_port(text: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= 65535):
        raise _refused(text, f"the port is {value!r}, expected 1 to 65535")
    return int(value)


def _refused(text: str, why: str) -> UsageError:
    return UsageError(f"{text!r} cannot be used as a target: {why}", next_step=f"Use one of: {EXAMPLES}")
