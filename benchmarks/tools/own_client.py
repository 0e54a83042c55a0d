"""specdoctor's own load generator, as it is sent to a host, against a server on this machine; prints one JSON line.

python -I -S own_client.py PROGRAM PARAMS      (PROGRAM holds the joined text of parts.bench_load)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    names: dict[str, Any] = {"__name__": "bench_load"}
    exec(compile(Path(sys.argv[1]).read_text(encoding="utf-8"), "bench_load", "exec"), names)
    params = json.loads(sys.argv[2])
    endpoint = names["Endpoint"]("127.0.0.1", params["port"], False, ())
    server = names["ProvedServer"](params["pid"], params["start_ticks"], endpoint, [])
    bench = names["Bench"](params["plan"], server, {}, lambda *told: None)
    record = names["measure"](bench, {"log_settle_s": 0.0, "own_limit_s": 0.0})
    print(json.dumps(record))


if __name__ == "__main__":
    main()
