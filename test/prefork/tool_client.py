"""
Have the tool server run a command as if it ran here:

    python -I -S tool_client.py SOCKET hlo-opt --cse input.mlir

Passes on its standard streams, directory and environment, and ends as the run ends, by the same status or signal. Runs
the command itself if there is no server or the server says that it must (`tool_server.py`).

A run of the tests starts it a thousand times: of modules it imports only those that are part of Python's binary, as far
as it can. `socket` and `os` take longer to import than everything else takes.
"""

import _socket
import marshal
import sys

MODULES = {
    "hlo-opt": "xhlo.tools.hlo_opt",
    "hlo-run": "xhlo.tools.hlo_run",
    "hlo-aot": "xhlo.tools.hlo_aot",
    "hlo-fuzz": "xhlo.tools.hlo_fuzz",
    "filecheck": "filecheck.main",
}
"""The module of each tool; its `main` is the command."""

TOOLS = (*MODULES, "python")
"""The commands that the server runs; of Python those that name a script, which may be `-`."""

RUN_IT_YOURSELF = -1000
"""An answer that is not an exit status."""


def script(tool: str) -> str:
    """The path at which the command of this Python is installed, if it is."""
    import os

    return os.path.join(os.path.dirname(sys.executable), tool)


def plain_command(tool: str) -> list[str]:
    """The installed command, or the module of the checkout if it is not installed."""
    import os

    if tool == "python":
        return [sys.executable]
    installed = script(tool)
    return [installed] if os.path.exists(installed) else [sys.executable, "-m", MODULES[tool]]


def send(
    path: str, words: list[str], directory: str, environment: dict[bytes, bytes], streams: list[int]
) -> _socket.socket | None:
    """Send a request with the descriptors of three streams. Returns the connection, or None if there is no server."""
    connection = _socket.socket(_socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return None
    request = marshal.dumps((words, directory, environment))
    data = len(request).to_bytes(8, "little") + request
    passed = b"".join(stream.to_bytes(4, sys.byteorder) for stream in streams)
    sent = connection.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
    if sent < len(data):
        connection.sendall(data[sent:])
    return connection


def answer(connection: _socket.socket) -> int | None:
    """An exit status, minus the number of a signal, or RUN_IT_YOURSELF; None if the server ended during the run."""
    data = connection.recv(4, _socket.MSG_WAITALL)
    return int.from_bytes(data, "little", signed=True) if len(data) == 4 else None


def ask(path: str, words: list[str]) -> int:
    """The answer to a request with the streams, directory and environment of this process."""
    import posix

    connection = send(path, words, posix.getcwd(), posix.environ, [0, 1, 2])
    if connection is None:
        return RUN_IT_YOURSELF
    status = answer(connection)
    if status is None:
        print("the tool server ended during the run", file=sys.stderr)
        posix.abort()
    return status


def main() -> None:
    path, *words = sys.argv[1:]
    has_options = words[0] == "python" and words[1:2] != ["-"] and words[1].startswith("-")
    status = RUN_IT_YOURSELF if has_options else ask(path, words)
    import posix

    if status == RUN_IT_YOURSELF:
        command = plain_command(words[0]) + words[1:]
        posix.execv(command[0], command)
    if status < 0:
        import signal

        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        posix.kill(posix.getpid(), -status)
    posix._exit(status)


if __name__ == "__main__":
    main()
