"""
Have the tool server run a command as if it ran here:

    python -I -S tool_client.py SOCKET hlo-opt --cse input.mlir

Passes on its standard streams, directory and environment, and ends as the run ends, by the same status or signal. Runs
the command itself if there is no server or the server says that it must (`tool_server.py`).

A run of the tests starts it a thousand times: of modules it imports only those that are part of Python's binary, as far
as it can. `socket` and `os` take longer to import than everything else takes.
"""

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


def ask(path: str, words: list[str]) -> int:
    """The server's answer: an exit status, minus the number of a signal, or RUN_IT_YOURSELF."""
    import _socket
    import posix

    connection = _socket.socket(_socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError:
        return RUN_IT_YOURSELF
    request = marshal.dumps((words, posix.getcwd(), posix.environ))
    data = len(request).to_bytes(8, "little") + request
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))
    sent = connection.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    if sent < len(data):
        connection.sendall(data[sent:])
    answer = connection.recv(4, _socket.MSG_WAITALL)
    if len(answer) < 4:
        print("the tool server ended during the run", file=sys.stderr)
        posix.abort()
    return int.from_bytes(answer, "little", signed=True)


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
