"""
`Popen` for lit, which has the tool servers run their commands without starting clients.

lit starts each command of a RUN line as a process and reads its output. To start a client takes longer than filecheck
does for most tests.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import IO, Any

from tool_client import RUN_IT_YOURSELF, answer, send
from tool_server import FOLDERS, ToolServer, at_start


def ask_servers(module: Any, servers: Sequence[ToolServer], environment: Mapping[str, str]) -> None:
    """
    Give a module that uses `subprocess` a `Popen` that asks the servers, whose environment this is, for their commands.
    It starts all other commands, and clients where a variable differs that acts when Python starts, or PYTHONPATH.
    """
    clients = [server.command("")[:-1] for server in servers if server.is_running]
    popen = partial(_popen, clients, _at_start(environment))
    module.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": popen})


def _at_start(environment: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
    return at_start(environment), environment.get(FOLDERS)


def _popen(clients: list[list[str]], started_with: object, words: Sequence[str], **options: Any) -> Any:
    for client in clients:
        if list(words[: len(client)]) == client and _at_start(options["env"]) == started_with:
            streams = [options[name] for name in ("stdin", "stdout", "stderr")]
            run = _ask(client[-1], words[len(client) :], options["cwd"], options["env"], streams, options["errors"])
            if run is not None:
                return run
    return subprocess.Popen(words, **options)


def _ask(
    path: str, words: Sequence[str], directory: str, environment: Mapping[str, str], streams: Sequence[Any], errors: str
) -> Run | None:
    """The run, whose streams are given as to `subprocess.Popen`; None if the server has ended."""
    ends: list[IO[str] | None] = [None, None, None]
    descriptors: list[int] = []
    of_pipes: list[int] = []
    for target, stream in enumerate(streams):
        if stream == subprocess.PIPE:
            reading, writing = os.pipe()
            descriptor, ours = (writing, reading) if target else (reading, writing)
            ends[target] = open(ours, "r" if target else "w", errors=errors)  # noqa: SIM115
            of_pipes.append(descriptor)
        elif stream == subprocess.STDOUT:
            descriptor = descriptors[1]
        else:
            descriptor = target if stream is None else stream if isinstance(stream, int) else stream.fileno()
        descriptors.append(descriptor)
    variables = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
    connection = send(path, list(words), directory, variables, descriptors)
    for descriptor in of_pipes:
        os.close(descriptor)
    return None if connection is None else Run(connection, *ends)


class Run:
    """A run of a server, with what lit uses of `subprocess.Popen`."""

    def __init__(
        self, connection: socket.socket, stdin: IO[str] | None, stdout: IO[str] | None, stderr: IO[str] | None
    ) -> None:
        self._connection = connection
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.returncode: int | None = None

    def communicate(self) -> tuple[str | None, str | None]:
        """Both outputs up to their ends, None of one that is no pipe. Waits for the run."""
        errors: list[str] = []
        reader = None
        if self.stdout is not None and self.stderr is not None:
            reader = threading.Thread(target=lambda stream: errors.append(stream.read()), args=(self.stderr,))
            reader.start()
        output = None if self.stdout is None else self.stdout.read()
        if reader is not None:
            reader.join()
        elif self.stderr is not None:
            errors.append(self.stderr.read())
        self.wait()
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        return output, errors[0] if errors else None

    def wait(self) -> int:
        """The exit status, or minus the number of the signal that ended the run."""
        if self.returncode is None:
            status = answer(self._connection)
            self._connection.close()
            if status is None:
                print("the tool server ended during the run", file=sys.stderr)
            self.returncode = -signal.SIGABRT if status is None else status
            assert status != RUN_IT_YOURSELF, "the tool server refused an environment that is its own"
        return self.returncode
