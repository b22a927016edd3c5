"""The server that forks for each run of a tool (test/prefork): a run is as strict as a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tool_server as prefork
from checkout import ROOT
from tool_client import plain_command
from tool_popen import Run, ask_servers
from tool_server import ToolServer

PREFORK = Path(prefork.__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
PROGRAM = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"

PROBE = """
import json, os, signal, sys, threading

def main():
    verb, *words = sys.argv[1:]
    if verb == "state":
        seen = globals().setdefault("seen", [])
        seen.append(1)
        print(json.dumps([len(seen), os.getcwd(), os.environ.get("PROBE"), words, sys.stdin.read()]))
    elif verb == "exit":
        sys.exit(eval(words[0]))
    elif verb == "return":
        return eval(words[0])
    elif verb == "kill":
        os.kill(os.getpid(), int(words[0]))
    elif verb == "raise":
        raise ValueError("this went wrong")
    elif verb == "thread":
        threading.Timer(0.2, print, ["from a thread"]).start()
    elif verb == "flood":
        print("x" * 1_000_000)
    elif verb == "sleep":
        print(os.getpid(), flush=True)
        threading.Event().wait(600)
    elif verb == "seed":
        print(os.environ.get("PYTHONHASHSEED"), hash("a string"))
"""

SCRIPT = "import sys; print(__name__, sys.argv, sys.path[0], len(sys.stdin.read())); sys.exit(3)"

pytestmark = pytest.mark.skipif(not prefork.SUPPORTED, reason="no fork here")


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The command of a tool that does what its first word says; the server knows it as hlo-opt."""
    folder = tmp_path_factory.mktemp("probe")
    (folder / "modules").mkdir()
    (folder / "modules" / "probe.py").write_text(PROBE)
    for name in ("tool_client.py", "tool_server.py"):
        text = (PREFORK / name).read_text()
        assert name != "tool_server.py" or str(prefork.FLOORS).replace("'", '"') in text
        # It loads no modules, which takes most of its time, and knows no tool but the probe.
        text = re.sub(r"FLOORS = \(.*\)", "FLOORS = ()", text)
        (folder / name).write_text(re.sub(r'"xhlo\.tools\.\w+"', '"probe"', text))
    start = "import sys, tool_server as t; s = t.ToolServer(); print(*s.command('hlo-opt'), sep='\\n', flush=True); sys.stdin.read()"
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{folder / 'modules'}{os.pathsep}{ROOT}"}
    owner = subprocess.Popen(
        [sys.executable, "-c", start],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdin is not None and owner.stdout is not None
    yield [owner.stdout.readline().rstrip("\n") for _ in range(6)]
    owner.stdin.close()
    owner.wait()


def start(command: list[str], *words: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *words], capture_output=True, text=True, check=False, timeout=120, **{"env": ENVIRONMENT, **options}
    )


@pytest.mark.long(14)
@pytest.mark.parametrize(
    ("tool", "words", "stdin"),
    [
        ("hlo-opt", ["--cse"], PROGRAM),
        ("hlo-opt", ["--cse", "-"], "func.func @main( {"),
        ("hlo-opt", ["--help"], ""),
        ("hlo-opt", ["--no-such-flag"], ""),
        ("hlo-opt", ["--emit=asm", "--lower"], PROGRAM),
        ("hlo-opt", ["no such file"], ""),
        ("hlo-run", [], PROGRAM),
        ("hlo-run", ["--target=moon"], PROGRAM),
        ("hlo-aot", ["no such file", "-o", "library"], ""),
        ("filecheck", ["checks"], PROGRAM),
        ("filecheck", ["checks"], "func.func @other"),
        ("python", ["script.py", "a b"], SCRIPT),
        ("python", ["-", "a b"], SCRIPT),
        ("python", ["-c", SCRIPT], ""),
    ],
)
def test_a_run_is_as_the_plain_command(
    tool_server: ToolServer, tmp_path: Path, tool: str, words: list[str], stdin: str
):
    (tmp_path / "checks").write_text("// CHECK: func.func @main\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    ours, plain = (
        start(command, *words, input=stdin, cwd=tmp_path)
        for command in (tool_server.command(tool), plain_command(tool))
    )
    assert (ours.returncode, ours.stdout, ours.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_arguments_directory_environment_and_input_are_the_caller_s(probe: list[str], tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "PROBE": "a=b\nä"}
    for _ in range(2):
        done = start(probe, "state", "", "ö x", cwd=tmp_path, input="text", env=_at_start_of(probe, environment))
        assert done.stdout == f'[1, "{tmp_path}", "a=b\\n\\u00e4", ["", "\\u00f6 x"], "text"]\n', done.stderr


def test_long_arguments(probe: list[str]) -> None:
    """Arguments longer than a socket accepts at once."""
    environment = {**_at_start_of(probe, ENVIRONMENT), **{f"LONG{i}": "x" * 100_000 for i in range(8)}}
    assert start(probe, "exit", "5", *(["y" * 100_000] * 8), env=environment).returncode == 5


def _at_start_of(probe: list[str], environment: dict[str, str]) -> dict[str, str]:
    """The environment at start, with the PYTHONPATH of the probe's server."""
    return {**environment, "PYTHONPATH": f"{Path(probe[3]).parent / 'modules'}{os.pathsep}{ROOT}"}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["exit", "0"], 0),
        (["exit", "None"], 0),
        (["exit", "3"], 3),
        (["exit", "256 + 7"], 7),
        (["exit", "'a message'"], 1),
        (["return", "True"], 1),
        (["return", "2"], 2),
        (["raise"], 1),
        (["kill", "6"], -signal.SIGABRT),
        (["kill", "11"], -signal.SIGSEGV),
        (["kill", "15"], -signal.SIGTERM),
        (["kill", "9"], -signal.SIGKILL),
    ],
)
def test_the_status_is_the_run_s(probe: list[str], words: list[str], status: int) -> None:
    done = start(probe, *words, env=_at_start_of(probe, ENVIRONMENT))
    assert done.returncode == status
    assert ("a message" in done.stderr) == ("'a message'" in words)
    assert ("ValueError: this went wrong" in done.stderr) == (words == ["raise"])


def test_threads_and_output_are_finished(probe: list[str]) -> None:
    environment = _at_start_of(probe, ENVIRONMENT)
    assert start(probe, "thread", env=environment).stdout == "from a thread\n"
    assert len(start(probe, "flood", env=environment).stdout) == 1_000_001


def test_a_closed_pipe_is_noticed(probe: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write) as broken:
        done = subprocess.run(
            [*probe, "flood"], stdout=broken, stderr=subprocess.PIPE, env=_at_start_of(probe, ENVIRONMENT), check=False
        )
    assert done.returncode != 0
    assert b"BrokenPipeError" in done.stderr


def test_a_killed_client_takes_its_run_along(probe: list[str]) -> None:
    client = subprocess.Popen(
        [*probe, "sleep"], stdout=subprocess.PIPE, env=_at_start_of(probe, ENVIRONMENT), text=True
    )
    assert client.stdout is not None
    run = int(client.stdout.readline())
    os.kill(run, 0)
    client.kill()
    client.wait()
    assert client.stdout.read() == ""  # the run held the other end of the pipe until it ended
    assert start(probe, "exit", "0", env=_at_start_of(probe, ENVIRONMENT)).returncode == 0


def test_variables_that_act_when_python_starts(probe: list[str]) -> None:
    """
    The client then starts the tool itself: the real hlo-opt, because only the server knows the probe by that name.
    """
    environment = _at_start_of(probe, ENVIRONMENT)
    assert start(probe, "seed", env=environment).returncode == 0
    done = start(probe, "--version", env={**environment, "PYTHONHASHSEED": "12345"})
    assert "xhlo" in done.stdout


def test_more_folders_of_modules_follow_the_server_s(probe: list[str], tmp_path: Path) -> None:
    (tmp_path / "added.py").write_text("import sys\nSTATUS = 7 + sys.path.index(__file__.removesuffix('/added.py'))")
    environment = _at_start_of(probe, ENVIRONMENT)
    path = environment["PYTHONPATH"]
    added = {**environment, "PYTHONPATH": f"{path}{os.pathsep}{tmp_path}"}
    # After the folder of the script and the server's two.
    assert start(probe, "exit", "__import__('added').STATUS", env=added).returncode == 7 + 3
    assert start(probe, "exit", "'added' in __import__('sys').modules", env=environment).returncode == 0
    # Before them, the server's modules might be others: the client starts the tool itself.
    before = {**environment, "PYTHONPATH": f"{tmp_path}{os.pathsep}{path}"}
    assert "xhlo" in start(probe, "--version", env=before).stdout


def test_packages_in_more_folders_are_found(tool_server: ToolServer, tmp_path: Path) -> None:
    """The server has run hlo-opt itself, and so has looked for packages before."""
    (tmp_path / "added-1.0.dist-info").mkdir()
    (tmp_path / "added-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1.0\n")
    points = "[xdsl.universe]\nadded = nowhere:UNIVERSE\n[xhlo.formats]\nother = nowhere:FORMAT\n"
    (tmp_path / "added-1.0.dist-info" / "entry_points.txt").write_text(points)
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    for env, groups in ((environment, ["xdsl.universe", "xhlo.formats"]), (ENVIRONMENT, [])):
        done = start(tool_server.command("hlo-opt"), "-", input=PROGRAM, env=env)
        assert done.returncode == 0, done.stderr
        found = [group for group in ("xdsl.universe", "xhlo.formats") if f"in {group}) is left out" in done.stderr]
        assert found == groups, done.stderr


def test_without_a_server_the_tool_is_started(tool_server: ToolServer) -> None:
    command = tool_server.command("hlo-opt")
    command[4] += ".gone"
    assert "xhlo" in start(command, "--version").stdout


@pytest.fixture
def popen(probe: list[str]) -> Callable[..., Any]:
    """`Popen` as lit's module gets it, of which the probe runs the words."""
    environment = _at_start_of(probe, ENVIRONMENT)
    module, server = SimpleNamespace(), SimpleNamespace(is_running=True, command=lambda tool: [*probe[:-1], tool])
    ask_servers(module, [server], environment)
    assert (module.subprocess.PIPE, module.subprocess.STDOUT) == (subprocess.PIPE, subprocess.STDOUT)
    given = {"cwd": "/", "env": environment, "universal_newlines": True, "errors": "replace"}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return lambda *words, **options: module.subprocess.Popen([*probe, *words], **given | streams | options)


def test_lit_asks_the_server_itself(popen: Callable[..., Any]) -> None:
    run = popen("state", "a b")
    assert isinstance(run, Run)
    run.stdin.close()
    output, errors = run.communicate()
    assert (json.loads(output), errors, run.wait()) == ([1, "/", None, ["a b"], ""], "", 0)


def test_the_output_of_one_run_is_the_input_of_the_next(popen: Callable[..., Any], tmp_path: Path) -> None:
    first = popen("flood")
    second = popen("state", stdin=first.stdout, stderr=subprocess.STDOUT)
    output, errors = second.communicate()
    assert (json.loads(output)[-1], errors) == ("x" * 1_000_000 + "\n", None)
    assert (first.wait(), second.wait()) == (0, 0)
    with open(tmp_path / "out", "w") as out:
        third = popen("state", stdin=None, stdout=out)
    assert third.communicate() == (None, "")
    assert json.loads((tmp_path / "out").read_text())[1] == "/"


@pytest.mark.parametrize(("words", "status"), [(["exit", "3"], 3), (["kill", "11"], -signal.SIGSEGV), (["raise"], 1)])
def test_a_failed_run_ends_as_its_process_would(popen: Callable[..., Any], words: list[str], status: int) -> None:
    run = popen(*words)
    _, errors = run.communicate()
    assert (run.returncode, run.wait(), "this went wrong" in errors) == (status, status, words == ["raise"])


@pytest.mark.parametrize("variable", [{"PYTHONHASHSEED": "12345"}, {"PYTHONPATH": str(ROOT)}])
def test_lit_starts_what_the_server_would_refuse(
    probe: list[str], popen: Callable[..., Any], variable: dict[str, str]
) -> None:
    """That is the client, which starts the real hlo-opt."""
    run = popen("--version", env={**_at_start_of(probe, ENVIRONMENT), **variable})
    assert isinstance(run, subprocess.Popen)
    assert "xhlo" in run.communicate()[0]


def test_a_server_ends_with_its_owner(probe: list[str]) -> None:
    code = (
        "import os, tool_server as t; s = t.ToolServer(); print(s._process.pid, *s.command('hlo-opt'), flush=True); "
        "os.kill(os.getpid(), 9)"
    )
    done = start([sys.executable, "-c", code], cwd=Path(probe[3]).parent)
    pid, *command = done.stdout.split()
    for _ in range(600):
        if not _is_running(int(pid)):
            break
        time.sleep(0.1)
    assert not _is_running(int(pid))
    assert not Path(command[4]).exists()


def _is_running(pid: int) -> bool:
    """Whether a process is running; a zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
