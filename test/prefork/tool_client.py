"""
Have the tool server run a command as if it ran here:

    python -I -S tool_client.py SOCKET hlo-opt --cse input.mlir

Passes on its standard streams, directory and environment, and ends as the run ends, by the same status or signal. Runs
the command itself if there is no server or the server says that it must (`tool_server.py`).
"""

import marshal
import os
import socket
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
    return os.path.join(os.path.dirname(sys.executable), tool)


def plain_command(tool: str) -> list[str]:
    """The installed command, or the module of the checkout if it is not installed."""
    if tool == "python":
        return [sys.executable]
    installed = script(tool)
    return [installed] if os.path.exists(installed) else [sys.executable, "-m", MODULES[tool]]


def ask(path: str, words: list[str]) -> int:
    """The server's answer: an exit status, minus the number of a signal, or RUN_IT_YOURSELF."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            return RUN_IT_YOURSELF
        request = marshal.dumps((words, os.getcwd(), dict(os.environ)))
        data = len(request).to_bytes(8, "little") + request
        sent = socket.send_fds(connection, [data], [0, 1, 2])
        if sent < len(data):
            connection.sendall(data[sent:])
        answer = connection.recv(4, socket.MSG_WAITALL)
    if len(answer) < 4:
        print("the tool server ended during the run", file=sys.stderr)
        os.abort()
    return int.from_bytes(answer, "little", signed=True)


def main() -> None:
    path, *words = sys.argv[1:]
    has_options = words[0] == "python" and words[1:2] != ["-"] and words[1].startswith("-")
    status = RUN_IT_YOURSELF if has_options else ask(path, words)
    if status == RUN_IT_YOURSELF:
        command = plain_command(words[0]) + words[1:]
        os.execv(command[0], command)
    if status < 0:
        import signal

        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
