"""The machine that a program is compiled for ahead of time: an LLVM triple, a CPU and its features."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from ..cpu import jit

HOST = "host"
"""The CPU of this machine, with the features that the JIT uses."""

_DEFAULT_CPU = {"x86_64": "x86-64-v3", "armv7": "cortex-a7", "riscv64": "generic-rv64"}
"""The CPU of a triple where none is named; "generic" for other machines."""

_FEATURES = {"riscv64": "+m,+a,+f,+d,+c"}
"""The features of a generic CPU of the machine, as its Linux distributions assume them."""

_WITHOUT = {"x86_64": ",".join(f"-{name}" for name in jit.EXCLUDED_FEATURES)}
"""The features that no CPU of the machine uses, because they change results."""

_MACHINES = ("x86_64", "aarch64", "armv7", "riscv64")
"""The machines whose code is tested: little-endian."""

_KNOWN_CPUS = ("generic", "generic-rv64", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "cortex-a7")

_NOT_ELF = ("windows", "mingw", "apple", "darwin", "macos")
"""Systems with object files of another format, whose archives and symbols differ."""

_REGISTERS = {"zmm": 512, "ymm": 256}

_DOTS_PROBE = """
define i32 @bytes(ptr %p, ptr %q) "prefer-vector-width"="512" {
  %a = load <64 x i8>, ptr %p
  %b = load <64 x i8>, ptr %q
  %x = zext <64 x i8> %a to <64 x i32>
  %y = sext <64 x i8> %b to <64 x i32>
  %m = mul <64 x i32> %x, %y
  %r = call i32 @llvm.vector.reduce.add.v64i32(<64 x i32> %m)
  ret i32 %r
}
define void @words(ptr %p) "prefer-vector-width"="512" {
  %x = load <32 x i16>, ptr %p
  %y = add <32 x i16> %x, %x
  store <32 x i16> %y, ptr %p
  ret void
}
declare i32 @llvm.vector.reduce.add.v64i32(<64 x i32>)
"""

_VECTOR_PROBE = """
define void @probe(ptr %p) "prefer-vector-width"="512" {
  %x = load <16 x float>, ptr %p
  %y = fadd <16 x float> %x, %x
  store <16 x float> %y, ptr %p
  ret void
}
"""


class MachineError(ValueError):
    """A triple or CPU that programs cannot be compiled for."""


@dataclass(frozen=True)
class Machine:
    """A machine by LLVM's names; `Machine.named` checks them."""

    triple: str
    cpu: str
    features: str

    @staticmethod
    def named(triple: str | None = None, cpu: str | None = None) -> Machine:
        """
        The machine of a triple such as "aarch64-linux-gnu" (this machine's by default) and a CPU such as "x86-64-v3",
        "znver4", or "host". Raises MachineError.
        """
        host = jit.host_triple()
        triple = triple or host
        kind = _kind(triple)
        if kind not in _MACHINES:
            raise MachineError(f"programs are not compiled for '{triple}': the machines are {', '.join(_MACHINES)}")
        if any(system in triple for system in _NOT_ELF):
            raise MachineError(f"programs are not compiled for '{triple}': object files are in ELF")
        if cpu == HOST:
            if kind != _kind(host):
                raise MachineError(f"the CPU 'host' is none of '{triple}': name one")
            return Machine(triple, jit.host_cpu(), jit.host_features())
        features = _WITHOUT.get(kind, "" if cpu else _FEATURES.get(kind, ""))
        machine = Machine(triple, cpu or _DEFAULT_CPU.get(kind, "generic"), features)
        if cpu is not None and cpu not in _KNOWN_CPUS:
            _check_cpu(machine)
        return machine

    @cached_property
    def target_machine(self) -> Any:
        """LLVM's description of the machine; used by one thread at a time."""
        return jit.target_machine(_with_vendor(self.triple), self.cpu, self.features)

    @property
    def header(self) -> str:
        """The first lines of LLVM IR for the machine: the optimizer, too, must know the size of pointers."""
        layout = str(self.target_machine.target_data)
        return f'target datalayout = "{layout}"\ntarget triple = "{_with_vendor(self.triple)}"\n'

    @property
    def vector_bits(self) -> int:
        """The width of the vector registers that LLVM uses for this CPU: 128, 256 or 512."""
        return _vector_bits(self)

    @property
    def is_host_kind(self) -> bool:
        """Whether this machine's own tools make programs for it."""
        return _kind(self.triple) == _kind(jit.host_triple())

    @property
    def dots(self) -> tuple[str, ...]:
        """The options of convert-contractions-to-vector for the dot products of integers that this CPU has."""
        return _dots(self)


def _kind(triple: str) -> str:
    """The machine of a triple, by LLVM's name of it."""
    return triple.partition("-")[0].replace("amd64", "x86_64").replace("arm64", "aarch64")


def _with_vendor(triple: str) -> str:
    """LLVM takes the second part for the vendor: aarch64-linux-gnu would have no system and no convention of calls."""
    parts = triple.split("-")
    return "-".join([parts[0], "unknown", *parts[1:]]) if len(parts) == 3 and parts[1] == "linux" else triple


@lru_cache(maxsize=64)
def _check_cpu(machine: Machine) -> None:
    """
    Check that LLVM knows the CPU. Raises MachineError.

    LLVM says it on standard error only, and may end the process that compiles for an unknown CPU: another one asks.
    """
    found = subprocess.run([sys.executable, "-c", _ASK, machine.triple, machine.cpu], capture_output=True, text=True)
    if "not a recognized processor" in found.stderr or found.returncode:
        raise MachineError(f"LLVM knows no CPU '{machine.cpu}' of '{machine.triple}'")


_ASK = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2])
"""


@lru_cache(maxsize=64)
def _vector_bits(machine: Machine) -> int:
    """LLVM's tables of CPUs are not open to Python, so that its code for an addition of 512 bits has to tell."""
    text = jit.compile_to_assembly(_VECTOR_PROBE, machine=machine.target_machine)
    return next((bits for register, bits in _REGISTERS.items() if register in text), 128)


@lru_cache(maxsize=64)
def _dots(machine: Machine) -> tuple[str, ...]:
    """LLVM's own code for such a sum tells whether the CPU has the instruction, as for the width of vectors."""
    if _kind(machine.triple) != "x86_64":
        return ()
    text = jit.compile_to_assembly(_DOTS_PROBE, machine=machine.target_machine)
    words = text.partition("words:")[2]
    found = ["byte-dots"] if "vpdpbusd" in text else []
    # AVX-512 multiplies 16-bit integers only with BW; SSE2 and AVX2 always do.
    return tuple([*found, "pair-dots"] if machine.vector_bits < 512 or "zmm" in words else found)
