"""
Run hlo-opt, hlo-run, hlo-aot, filecheck and Python scripts for the tests without loading xhlo each time.

The server loads the modules once and forks for each run, so a run is a process of its own with modules as after their
import. `tool_client.py` is the command that tests start in place of the tool: it passes its arguments, environment,
directory and standard streams over a socket and ends as the run ends. Killing a client kills its run. Settings that
act when Python starts cannot be changed later: with another PYTHONHASHSEED, say, the client starts the tool itself. But
more folders after those of the server's PYTHONPATH are searched as if they had been there at the start.

A server belongs to the process that started it (lit, or pytest and each of its workers) and ends with it, so no test
runs on sources older than its own start.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import marshal
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, NoReturn, TextIO

from tool_client import MODULES, RUN_IT_YOURSELF, plain_command, script

HERE = Path(__file__).resolve().parent

SUPPORTED = hasattr(os, "fork") and sys.platform != "darwin"
"""Not on macOS, whose own libraries do not work in a fork."""

PROGRAM = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"

FLOORS = ("dialects", "hlo_dialect", "lowering", "passes", "targets", "tools")
PARENT_CHECK_SECONDS = 0.5
AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "OMP_", "OPENBLAS_", "MKL_")
"""Prefixes of variables that act when Python starts or a library is loaded."""
FOLDERS = "PYTHONPATH"


class ToolServer:
    """
    The server of this process and environment; if there cannot be one, its commands are the plain ones.

    It loads what the given tools import, or all of xhlo if none is given; the less it holds, the quicker it forks.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ, tools: Sequence[str] = ()):
        self._process: subprocess.Popen[bytes] | None = None
        if not SUPPORTED or os.environ.get("XHLO_PLAIN_TOOLS"):
            return
        self._folder = tempfile.mkdtemp(prefix="xhlo-tools-")
        self._path = os.path.join(self._folder, "socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._path)
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(listener.fileno()), str(os.getpid()), *tools],
                env=dict(environment),
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._owner = os.getpid()
        atexit.register(self.stop)

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def command(self, tool: str) -> list[str]:
        """The command to start in place of a tool of `MODULES`, or of `python`."""
        if self._process is None:
            return plain_command(tool)
        return [sys.executable, "-I", "-S", str(HERE / "tool_client.py"), self._path, tool]

    def stop(self) -> None:
        """
        Stop the server, at the latest when the process that started it ends; in a fork of that process, do nothing.
        """
        if self._process is not None and os.getpid() == self._owner:
            self._process.kill()
            self._process.wait()
            self._process = None
            shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True)
class Request:
    """The request of a client."""

    words: list[str]
    directory: str
    environment: dict[str, str]
    streams: list[int]


def load_modules() -> None:
    """Load the modules that the tools load on demand. The tool reports a module that cannot be loaded."""
    for floor in FLOORS:
        package = importlib.import_module(f"xhlo.{floor}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda name: None):
            with suppress(Exception):
                importlib.import_module(module.name)
    for name in MODULES.values():
        with suppress(Exception):
            importlib.import_module(name)


def warm_up() -> None:
    """
    Run hlo-opt once, without a pass. Its caches follow from the sources and the installed packages: the names of
    passes and dialects, and Python's own table of subclasses, which takes longer to make than a short run.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.mlir"
        program.write_text(PROGRAM)
        with suppress(Exception), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            importlib.import_module(MODULES["hlo-opt"]).main([str(program)])


def forget_packages() -> None:
    """Forget the packages that `warm_up` has found."""
    for module, function in (("passes.manager.registry", "full_registry"), ("hlo_dialect.formats", "formats")):
        getattr(importlib.import_module(f"xhlo.{module}"), function).cache_clear()


def serve(listener: socket.socket, parent: int) -> Request | None:
    """Fork for each request. Returns the request in the fork, and None in the server when the parent has ended."""
    wake_up, at_signal = os.pipe()
    os.set_blocking(at_signal, False)
    signal.set_wakeup_fd(at_signal)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    runs: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(wake_up, selectors.EVENT_READ)
        while os.getppid() == parent:
            for key, _ in selector.select(PARENT_CHECK_SECONDS):
                if key.fileobj is listener:
                    connection = listener.accept()[0]
                    request = _receive(connection)
                    if request is None:
                        connection.close()
                        continue
                    run = os.fork()
                    if run == 0:
                        for each in (listener, connection, *runs.values()):
                            each.close()
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        os.close(wake_up)
                        os.close(at_signal)
                        return request
                    for stream in request.streams:
                        os.close(stream)
                    runs[run] = connection
                    selector.register(connection, selectors.EVENT_READ, run)
                elif key.fileobj == wake_up:
                    os.read(wake_up, 4096)
                    for run, status in _ended(runs):
                        connection = runs.pop(run)
                        with suppress(KeyError):
                            selector.unregister(connection)
                        _answer(connection, status)
                elif key.data in runs:  # nothing more is sent: the client has ended
                    os.kill(key.data, signal.SIGKILL)
                    selector.unregister(key.fileobj)
    return None


def _receive(connection: socket.socket) -> Request | None:
    """The request; None if the client has ended or was told to run the command itself."""
    with suppress(OSError):
        data, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
        while data and len(data) < 8 + int.from_bytes(data[:8], "little"):
            more = connection.recv(1 << 20)
            data = data + more if more else b""
        if data:
            words, directory, environment = marshal.loads(data[8:])
            decoded = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
            request = Request(words, directory, decoded, streams)
            if at_start(request.environment) == at_start(os.environ) and _more_folders(request) is not None:
                return request
            _answer(connection, RUN_IT_YOURSELF)
        for stream in streams:
            os.close(stream)
    return None


def at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a run must have in common with the server, but for folders of modules."""
    return {name: value for name, value in environment.items() if name.startswith(AT_START) and name != FOLDERS}


def _folders(environment: Mapping[str, str]) -> list[str]:
    return [folder for folder in environment.get(FOLDERS, "").split(os.pathsep) if folder]


def _more_folders(request: Request) -> list[str] | None:
    """The folders that the request has on its path after the server's; None if it lacks one of these."""
    ours, theirs = _folders(os.environ), _folders(request.environment)
    return theirs[len(ours) :] if theirs[: len(ours)] == ours else None


def _ended(runs: Mapping[int, socket.socket]) -> list[tuple[int, int]]:
    """Runs that have ended, with their statuses."""
    ended: list[tuple[int, int]] = []
    for run in runs:
        pid, status = os.waitpid(run, os.WNOHANG)
        if pid:
            ended.append((run, os.waitstatus_to_exitcode(status)))
    return ended


def _answer(connection: socket.socket, status: int) -> None:
    with suppress(OSError):
        connection.sendall(status.to_bytes(4, "little", signed=True))
    connection.close()


def run_tool(request: Request) -> NoReturn:
    """Run the command in a process set up like a new Python, and end the process with it."""
    os.chdir(request.directory)
    # After the folder of the script and those of the server.
    after = 1 + len(_folders(os.environ))
    if folders := _more_folders(request):
        sys.path[after:after] = folders
        forget_packages()
    os.environ.clear()
    os.environ.update(request.environment)
    for target, (stream, name) in enumerate(zip(request.streams, ("stdin", "stdout", "stderr"), strict=True)):
        os.dup2(stream, target)
        os.close(stream)
        made = _standard_stream(target, getattr(sys, name))
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)
    tool, *arguments = request.words
    sys.argv = [script(tool), *arguments]
    if tool == "python":
        return run_script(*arguments)
    try:
        sys.exit(importlib.import_module(MODULES[tool]).main())
    except SystemExit as end:
        if isinstance(end.code, int | None):
            _leave(end.code or 0)
        raise


def run_script(path: str, *arguments: str) -> NoReturn:
    """Run a Python file, or what standard input holds if the path is `-`, as `python` does."""
    sys.argv = [path, *arguments]
    sys.path[0] = "" if path == "-" else str(Path(path).resolve().parent)
    file = "<stdin>" if path == "-" else os.path.abspath(path)
    source: Any = sys.stdin.read() if path == "-" else Path(file).read_bytes()
    module = sys.modules["__main__"] = ModuleType("__main__")
    if path != "-":
        module.__file__ = file
    status = 0
    try:
        exec(compile(source, file, "exec"), module.__dict__)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        status = end.code or 0
    except Exception as error:
        error.__traceback__ = _frames_of(file, error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    _leave(status, module)
    sys.exit(status)


def _frames_of(path: str, frames: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback from the script on; all if it has none."""
    below = frames
    while below is not None and below.tb_frame.f_code.co_filename != path:
        below = below.tb_next
    return below or frames


def _standard_stream(descriptor: int, ours: TextIO) -> TextIO:
    """The stream that Python opens on the descriptor, in place of the server's."""
    is_raw = isinstance(ours.buffer, io.RawIOBase)  # PYTHONUNBUFFERED
    buffer: Any = open(descriptor, "wb" if descriptor else "rb", 0 if is_raw else -1, closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(
        buffer,
        ours.encoding,
        ours.errors,
        line_buffering=descriptor == 2 or buffer.isatty(),
        write_through=getattr(ours, "write_through", False),
    )


def _leave(status: int, module: ModuleType | None = None) -> None:
    """
    End as Python does, with what the script holds, but without unloading a thousand modules, which takes longer than
    most runs. Returns if a stream is broken.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if module is not None:
        vars(module).clear()
        gc.collect()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status & 255)


def main() -> None:
    # As for a tool that is started: this folder is not on its module path.
    sys.path[:] = [os.path.dirname(sys.executable), *(folder for folder in sys.path if folder != str(HERE))]
    descriptor, parent, *tools = sys.argv[1:]
    for tool in tools:
        importlib.import_module(MODULES[tool])
    if not tools:
        load_modules()
        warm_up()
    gc.collect()
    gc.freeze()
    listener = socket.socket(fileno=int(descriptor))
    path = listener.getsockname()
    request = serve(listener, int(parent))
    if request is not None:
        run_tool(request)
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)


if __name__ == "__main__":
    main()
