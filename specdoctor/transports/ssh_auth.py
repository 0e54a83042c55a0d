"""Authentication requests on one transport, as strict servers want them."""

from __future__ import annotations

import threading
from typing import Any

import paramiko
from paramiko.auth_handler import AuthHandler

_SSH_USERAUTH = "ssh-userauth"


class Authentication:
    """Asks a server to let a user in, as often as there are keys to try, over a transport (paramiko's).

    Both calls return the methods still needed (nothing when the user is in) and raise what paramiko raises:
    BadAuthenticationType with the accepted methods, AuthenticationException for a refusal, SSHException.
    """

    def __init__(self, transport: Any, user: str) -> None:
        self._transport = transport
        self._user = user
        self._handler = _PatientHandler(transport)
        transport.auth_handler = self._handler

    def by_nothing(self) -> list[str]:
        """Ask without a key, which tells the methods the server accepts."""
        answered = threading.Event()
        self._handler.auth_none(self._user, answered)
        return list(self._handler.wait_for_response(answered))

    def by_key(self, key: Any) -> list[str]:
        """Offer one key (paramiko's)."""
        answered = threading.Event()
        self._handler.auth_publickey(self._user, key, answered)
        return list(self._handler.wait_for_response(answered))


class _PatientHandler(AuthHandler):  # type: ignore[misc]  # paramiko ships no types
    """Requests the authentication service once; the library asks again for each attempt, which strict servers end."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)
        self._service_requested = False

    def _request_auth(self) -> None:
        if not self._service_requested:
            self._service_requested = True
            super()._request_auth()
            return
        accepted = paramiko.Message()
        accepted.add_string(_SSH_USERAUTH)
        accepted.rewind()
        self._parse_service_accept(accepted)
