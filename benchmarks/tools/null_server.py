"""A server that computes nothing: it streams counted tokens at a fixed pace, so that only the client's work shows.

    python benchmarks/tools/null_server.py --tokens-per-chunk 4 --step-ms 2

It prints its port on the first line, answers SGLang's /generate and the OpenAI chat endpoint, and ends with its
standard input. A request's first chunk holds one token (as a prefill gives one), the others `--tokens-per-chunk`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator

WORD = " four"
END = b"0\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
KNOWN = {
    "/v1/models": {"data": [{"id": "null"}]},
    "/get_server_info": {"internal_states": [{}]},
    "/server_info": {"version": "0.5.9", "internal_states": [{}]},
}


def token_counts(limit: int, per_chunk: int) -> Iterator[int]:
    """Tokens so far at each chunk: 1, then `per_chunk` more each time, the last one cut at `limit`."""
    so_far = 1
    while True:
        yield so_far
        if so_far >= limit:
            return
        so_far = min(limit, so_far + per_chunk)


def generate_chunks(limit: int, per_chunk: int) -> list[bytes]:
    """What /generate sends: the text so far and the count so far in every chunk."""
    chunks: list[object] = []
    for count in token_counts(limit, per_chunk):
        meta: dict[str, object] = {"id": "0", "prompt_tokens": 12, "cached_tokens": 0, "completion_tokens": count}
        meta["finish_reason"] = {"type": "length", "length": limit} if count == limit else None
        chunks.append({"text": WORD * count, "output_ids": [4] * count, "meta_info": meta})
    return _framed(chunks)


def chat_chunks(limit: int, per_chunk: int, *, usage: bool) -> list[bytes]:
    """What the chat endpoint sends: new text only, and the usage in a chunk of its own where it is wanted."""
    chunks: list[object] = []
    before = 0
    for count in token_counts(limit, per_chunk):
        choice = {"index": 0, "delta": {"content": WORD * (count - before)}, "finish_reason": None}
        chunks.append({"id": "0", "object": "chat.completion.chunk", "choices": [choice]})
        before = count
    done = {"index": 0, "delta": {}, "finish_reason": "length"}
    chunks.append({"id": "0", "choices": [done]})
    if usage:
        counts = {"prompt_tokens": 12, "completion_tokens": limit, "total_tokens": limit + 12}
        chunks.append({"id": "0", "choices": [], "usage": counts})
    return _framed(chunks)


def _framed(chunks: list[object]) -> list[bytes]:
    pieces = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]
    return [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces]


class NullServer:
    """All connections take one chunk at each step, as requests of one batch do."""

    def __init__(self, per_chunk: int, step_s: float) -> None:
        self._per_chunk = per_chunk
        self._step_s = step_s
        self._made: dict[tuple[str, int, bool], list[bytes]] = {}
        self._step = asyncio.Event()

    async def ticks(self) -> None:
        """Wake every stream once in each step."""
        while True:
            await asyncio.sleep(self._step_s)
            self._step.set()
            self._step = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, kept open from request to request."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                method, path, _ = head.decode("latin-1").split(" ", 2)
                body = await reader.readexactly(_length(head))
                if method == "POST" and path in ("/generate", "/v1/chat/completions"):
                    await self._stream(path, json.loads(body), writer)
                else:
                    answer = json.dumps(KNOWN.get(path.partition("?")[0], {})).encode()
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def _stream(self, path: str, body: dict[str, object], writer: asyncio.StreamWriter) -> None:
        sampling = body.get("sampling_params")
        native = sampling.get("max_new_tokens") if isinstance(sampling, dict) else None
        limit = native or body.get("max_tokens") or body.get("max_completion_tokens")
        assert isinstance(limit, int)
        kind = (path, limit, bool(body.get("stream_options")))
        if kind not in self._made:
            native = path == "/generate"
            self._made[kind] = (
                generate_chunks(limit, self._per_chunk)
                if native
                else chat_chunks(limit, self._per_chunk, usage=kind[2])
            )
        chunks = self._made[kind]
        writer.write(HEAD)
        for chunk in chunks:
            await self._step.wait()
            writer.write(chunk)
        writer.write(END)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens-per-chunk", type=int, default=1)
    parser.add_argument("--step-ms", type=float, default=2.0)
    options = parser.parse_args()
    null = NullServer(options.tokens_per_chunk, options.step_ms / 1000.0)
    server = await asyncio.start_server(null.serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    ticking = asyncio.create_task(null.ticks())
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    ticking.cancel()


if __name__ == "__main__":
    asyncio.run(main())
