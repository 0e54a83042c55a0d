"""A relay that makes a line slow and lossy: each segment takes its time, and some have to be sent again."""

from __future__ import annotations

import contextlib
import queue
import random
import socket
import threading
import time

from tests.transports.ssh_servers import LOOPBACK

DELAY_S = 0.1
LOSS = 0.02
STALL_S = (0.2, 0.4)
SEGMENT_BYTES = 1448


class SlowLine:
    """Relays to a port of this machine: DELAY_S each way, and LOSS of the segments STALL_S later, what follows too.

    That is what a lost segment does to what is read at the other end: it comes once it was sent again, in order.
    """

    def __init__(self, port: int, *, seed: int) -> None:
        self._target = port
        self._seed = seed
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port = int(self._listener.getsockname()[1])
        self.stalls = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        count = 0
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection((LOOPBACK, self._target))
            except OSError:
                return
            for source, sink in ((near, far), (far, near)):
                sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                count += 1
                chance = random.Random(self._seed + count)
                under_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                threading.Thread(target=self._depart, args=(source, under_way, chance), daemon=True).start()
                threading.Thread(target=self._arrive, args=(sink, under_way), daemon=True).start()

    def _depart(
        self, source: socket.socket, under_way: queue.SimpleQueue[tuple[float, bytes]], chance: random.Random
    ) -> None:
        due = 0.0
        segment = b"begun"
        while segment:
            try:
                segment = source.recv(SEGMENT_BYTES)
            except OSError:
                segment = b""
            due = max(due, time.monotonic() + DELAY_S)
            if segment and chance.random() < LOSS:
                due += chance.uniform(*STALL_S)
                self.stalls += 1
            under_way.put((due, segment))

    @staticmethod
    def _arrive(sink: socket.socket, under_way: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, segment = under_way.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not segment:
                    sink.shutdown(socket.SHUT_RDWR)
                    return
                sink.sendall(segment)
