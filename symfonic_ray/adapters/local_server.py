"""The local model's server: one process a node, alive for as long as somebody holds a lease on it.

Run as a script by ``local_lease``; needs xllamacpp and nothing of this project. A lease is an open connection to the
Unix socket: the kernel closes it when its holder dies, however it dies, so a server never outlives its users.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import socket
import sys
from contextlib import suppress
from typing import Any

FIRST_LEASE_SECONDS = 30.0  # whoever started the server asks at once; if not, it died meanwhile
TOKENS = 8192  # the model's whole window, shared by the requests that run at once
REQUESTS_AT_ONCE = 4


def main(socket_path: str, model_path: str) -> None:
    """Serve the model until the last lease is gone."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(socket_path)
        listener.listen(128)  # those who come while the model is loaded wait here
        key = secrets.token_hex(16)
        server = _model(model_path, key)
        serve_leases(listener, {"base_url": f"{server.listening_address}/v1", "api_key": key})
        os.unlink(socket_path)  # before the listener closes: a path that is there must always be answered
    del server  # stops it


def serve_leases(listener: socket.socket, address: dict[str, str]) -> None:
    """Tell ``address`` to everyone who connects, until all have gone again."""
    line = json.dumps(address).encode() + b"\n"
    with selectors.DefaultSelector() as waiting:
        waiting.register(listener, selectors.EVENT_READ)
        leases = 0
        while events := waiting.select(None if leases else FIRST_LEASE_SECONDS):
            for key, _ in events:
                if key.fileobj is listener:
                    lease, _ = listener.accept()
                    with suppress(OSError):  # it is gone again, and reads as ended next
                        lease.sendall(line)
                    waiting.register(lease, selectors.EVENT_READ)
                    leases += 1
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    waiting.unregister(key.fileobj)  # a holder says nothing, so this is its end
                    key.fileobj.close()
                    leases -= 1
            if not leases:
                return


def _model(path: str, key: str) -> Any:
    import xllamacpp  # type: ignore[import-untyped, import-not-found, unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = TOKENS
    params.n_parallel = REQUESTS_AT_ONCE
    params.ui = False
    params.endpoint_slots = False  # it would show one holder's prompts to another
    params.verbosity = 2
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
