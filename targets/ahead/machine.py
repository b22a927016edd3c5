"""The machine that a program is compiled for ahead of time: an LLVM triple, a CPU and its features."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any

from ..cpu import host, jit

HOST = "host"
"""The CPU of this machine, with the features that the JIT uses."""


class Format(Enum):
    """A format of object files."""

    ELF = "ELF"
    MACH_O = "Mach-O"
    COFF = "COFF"
    WASM = "WebAssembly"


@dataclass(frozen=True)
class Kind:
    """A kind of machine: what is assumed of its CPUs, and what LLVM's code for a probe cannot tell."""

    cpu: str = "generic"
    """The CPU where none is named."""
    features: str = ""
    """The features of a generic CPU, as the systems for the machine assume them."""
    without: str = ""
    """The features that no CPU uses, because they change results."""
    registers: int = 0
    """The vector registers; 0 if they follow from the width of vectors, as on x86."""
    big_endian: bool = False
    pointer_bits: int = 64
    soft_extremes: bool = False
    """Whether LLVM fails at maximum and minimum of doubles."""
    formats: tuple[Format, ...] = (Format.ELF,)
    """The formats of its object files."""


_ALL_SYSTEMS = (Format.ELF, Format.MACH_O, Format.COFF)
_WEB = "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext,+mutable-globals"

KINDS: Mapping[str, Kind] = {
    "x86_64": Kind("x86-64-v3", without=",".join(f"-{name}" for name in host.EXCLUDED_FEATURES), formats=_ALL_SYSTEMS),
    "aarch64": Kind(registers=32, formats=_ALL_SYSTEMS),
    "armv7": Kind("cortex-a7", pointer_bits=32, soft_extremes=True),
    "riscv64": Kind("generic-rv64", features="+m,+a,+f,+d,+c", registers=32),
    "s390x": Kind("z14", registers=32, big_endian=True),
    "wasm32": Kind(features=_WEB, pointer_bits=32, formats=(Format.WASM,)),
    "wasm64": Kind(features=_WEB, formats=(Format.WASM,)),
}
"""The machines whose code is tested, by LLVM's names."""

_LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
"""The CPUs of x86_64 that need not be looked up."""

_TRIPLE = re.compile(r"\w[\w.]*(-\w[\w.]*)*", re.ASCII)

_FORMATS = {
    "apple": Format.MACH_O,
    "darwin": Format.MACH_O,
    "macos": Format.MACH_O,
    "windows": Format.COFF,
    "mingw": Format.COFF,
    "wasm": Format.WASM,
}
"""The formats by words of triples; all other systems have ELF."""

_REGISTERS = {"zmm": 512, "ymm": 256}

_HALF_PROBE = """
define float @extended(half %x) {
  %y = fpext half %x to float
  ret float %y
}
define half @rounded(float %x) {
  %y = fptrunc float %x to half
  ret half %y
}
"""

_FMA_PROBE = """
define float @fused(float %x, float %y, float %z) {
  %r = call float @llvm.fma.f32(float %x, float %y, float %z)
  ret float %r
}
declare float @llvm.fma.f32(float, float, float)
"""

_HALF_CALLS = ("hfsf2", "sfhf2", "h2f", "f2h")
"""Parts of the names of the compiler's own functions for these."""

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
define void @bfloats(ptr %p, ptr %q) "prefer-vector-width"="512" {
  %x = load <16 x float>, ptr %p
  %y = fptrunc <16 x float> %x to <16 x bfloat>
  store <16 x bfloat> %y, ptr %q
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


_LOOP_PROBE = """
define void @loop(ptr noalias %p, ptr noalias %q, i64 %n) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %from = getelementptr float, ptr %p, i64 %i
  %to = getelementptr float, ptr %q, i64 %i
  %x = load float, ptr %from
  %y = fadd float %x, %x
  store float %y, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %end
end:
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
    l2_bytes: int | None = None
    """The size of its L2 cache, known of this machine's CPU; it decides about tiles, never about results."""

    @staticmethod
    def named(triple: str | None = None, cpu: str | None = None) -> Machine:
        """
        The machine of a triple such as "aarch64-linux-gnu" (this machine's by default) and a CPU such as "x86-64-v3",
        "znver4", "generic-rv64+v" with a feature more, or "host". Raises MachineError.
        """
        native = host.host_triple()
        triple = native if triple is None else triple
        name = kind_of(triple)
        kind = KINDS.get(name)
        if kind is None or not _TRIPLE.fullmatch(triple):
            raise MachineError(f"programs are not compiled for '{triple}': the machines are {', '.join(KINDS)}")
        form = _format_of(triple)
        if form not in kind.formats:
            known = " or ".join(each.value for each in kind.formats)
            raise MachineError(
                f"'{triple}' has object files in {form.value}: programs for {name} are compiled to {known}"
            )
        if cpu == HOST:
            if name != kind_of(native):
                raise MachineError(f"the CPU 'host' is none of '{triple}': name one")
            return Machine(triple, host.host_cpu(), host.host_features(), host.host_l2_bytes())
        chosen, *more = (kind.cpu if cpu is None else cpu).split("+")
        generic = kind.features if cpu is None or chosen.startswith("generic") else ""
        features = ",".join(filter(None, (generic, kind.without, *(f"+{feature}" for feature in more))))
        machine = Machine(triple, chosen, features)
        if more or (chosen != kind.cpu and not (name == "x86_64" and chosen in _LEVELS)):
            _check_cpu(machine)
        if machine.pointer_bits != kind.pointer_bits:
            raise MachineError(
                f"'{triple}' has pointers of {machine.pointer_bits} bits: {name} has {kind.pointer_bits}"
            )
        return machine

    @property
    def kind(self) -> Kind:
        """The facts that all machines of its kind share."""
        return KINDS[kind_of(self.triple)]

    @property
    def format(self) -> Format:
        """The format of its object files."""
        return _format_of(self.triple)

    @cached_property
    def target_machine(self) -> Any:
        """LLVM's description of the machine; used by one thread at a time."""
        return jit.target_machine(full_triple(self.triple), self.cpu, self.features)

    @property
    def header(self) -> str:
        """The first lines of LLVM IR for the machine: the optimizer, too, must know the size of pointers."""
        layout = str(self.target_machine.target_data)
        return f'target datalayout = "{layout}"\ntarget triple = "{full_triple(self.triple)}"\n'

    @property
    def pointer_bits(self) -> int:
        """The size of its pointers."""
        return 32 if "-p:32:32-" in str(self.target_machine.target_data) else 64

    @property
    def vector_bits(self) -> int:
        """The width of the vector registers that LLVM uses for this CPU: 128, 256 or 512."""
        return _vector_bits(self)

    @property
    def soft_half(self) -> bool:
        """Whether the CPU has no instructions that convert f16, so that LLVM would call the compiler's own library."""
        return _soft_half(self)

    @property
    def soft_fma(self) -> bool:
        """Whether the CPU has no fused multiply-add, so that LLVM would call libm's."""
        return _soft_fma(self)

    @property
    def soft_extremes(self) -> bool:
        """Whether maximum and minimum of doubles are comparisons."""
        return self.kind.soft_extremes

    @property
    def slow_masks(self) -> bool:
        """Whether LLVM stores vectors under masks by AVX's instructions, which have no registers for these."""
        return kind_of(self.triple) == "x86_64" and self.vector_bits == 256

    @property
    def slow_subnormals(self) -> bool:
        """Whether an operation that makes a subnormal number takes a hundred cycles."""
        return host.slow_subnormals(self.triple, self.cpu)

    @property
    def scalable(self) -> bool:
        """Whether LLVM's loops of vectors cannot be unrolled: RISC-V's V."""
        return kind_of(self.triple) == "riscv64" and self.any_length

    @property
    def any_length(self) -> bool:
        """Whether LLVM makes vectors whose length only the CPU that runs the code knows: RISC-V's V, and SVE."""
        return _any_length(self)

    @property
    def is_host_kind(self) -> bool:
        """Whether this machine's own tools make programs for it."""
        return kind_of(self.triple) == kind_of(host.host_triple()) and self.format is Format.ELF

    @property
    def dots(self) -> tuple[str, ...]:
        """The options of convert-contractions-to-vector for the dot products of integers that this CPU has."""
        return _dots(self)

    @property
    def registers(self) -> int:
        """The vector registers; 0 if they follow from the width."""
        return self.kind.registers


def kind_of(triple: str) -> str:
    """The machine of a triple, by LLVM's name of it."""
    return triple.partition("-")[0].replace("amd64", "x86_64").replace("arm64", "aarch64")


def _format_of(triple: str) -> Format:
    return next((found for word, found in _FORMATS.items() if word in triple), Format.ELF)


VERSIONS = {"aarch64": "11.0", "x86_64": "10.13"}
"""The first macOS on each machine that linkers of today support."""


def full_triple(triple: str) -> str:
    """
    The triple with all of its parts, as LLVM reads them by place: in aarch64-linux-gnu the system would be the vendor.
    """
    machine, *rest = triple.split("-")
    if not rest:
        return f"{machine}-unknown-unknown"
    if rest[0] == "linux" and len(rest) == 2:
        rest = ["unknown", *rest]
    elif rest[0] == "windows":
        rest = ["pc", *rest]
    elif rest[-1].startswith("mingw"):
        rest = ["w64", "windows", "gnu"]
    elif rest[0].startswith("wasi"):
        rest = ["unknown", *rest]
    elif rest[-1] in ("macos", "macosx", "darwin"):
        rest = ["apple", f"macosx{VERSIONS.get(kind_of(triple), '')}"]
    return "-".join([machine, *rest])


@lru_cache(maxsize=64)
def _check_cpu(machine: Machine) -> None:
    """
    Check that LLVM knows the CPU and its features. Raises MachineError.

    LLVM says it on standard error only, and may end the process that compiles for an unknown CPU: another one asks.
    """
    if not machine.cpu:
        raise MachineError(f"a feature of '{machine.triple}' goes with a CPU, as in {machine.kind.cpu}+feature")
    words = [full_triple(machine.triple), machine.cpu, machine.features]
    found = subprocess.run([sys.executable, "-c", _ASK, *words], capture_output=True, text=True)
    if "not a recognized feature" in found.stderr:
        raise MachineError(f"LLVM knows no feature {found.stderr.split()[0]} of '{machine.triple}'")
    if "not a recognized processor" in found.stderr or found.returncode:
        raise MachineError(f"LLVM knows no CPU '{machine.cpu}' of '{machine.triple}'")


_ASK = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2], features=sys.argv[3])
"""


@lru_cache(maxsize=64)
def _vector_bits(machine: Machine) -> int:
    """LLVM's tables of CPUs are not open to Python, so that its code for an addition of 512 bits has to tell."""
    if kind_of(machine.triple) != "x86_64":
        return 128
    text = jit.compile_to_assembly(_VECTOR_PROBE, machine=machine.target_machine)
    return next((bits for register, bits in _REGISTERS.items() if register in text), 128)


@lru_cache(maxsize=64)
def _soft_half(machine: Machine) -> bool:
    text = jit.compile_to_assembly(_HALF_PROBE, machine=machine.target_machine)
    return any(call in text for call in _HALF_CALLS)


@lru_cache(maxsize=64)
def _any_length(machine: Machine) -> bool:
    if kind_of(machine.triple) not in ("riscv64", "aarch64"):
        return False
    text = jit.compile_to_assembly(_LOOP_PROBE, machine=machine.target_machine)
    return re.search(r"\tvset|\t(ptrue|whilelo|cnt[bhwd]|addvl)\b", text) is not None


@lru_cache(maxsize=64)
def _soft_fma(machine: Machine) -> bool:
    return "fmaf" in jit.compile_to_assembly(_FMA_PROBE, machine=machine.target_machine)


@lru_cache(maxsize=64)
def _dots(machine: Machine) -> tuple[str, ...]:
    """LLVM's own code for such a sum tells whether the CPU has the instruction, as for the width of vectors."""
    if kind_of(machine.triple) != "x86_64":
        return ()
    text = jit.compile_to_assembly(_DOTS_PROBE, machine=machine.target_machine)
    words, _, bfloats = text.partition("words:")[2].partition("bfloats:")
    found = ["byte-dots"] if "vpdpbusd" in text else []
    # AVX-512 multiplies 16-bit integers only with BW; SSE2 and AVX2 always do.
    found += ["pair-dots"] if machine.vector_bits < 512 or "zmm" in words else []
    # AVX512_BF16 has a conversion, too; so have AVX-NE-CONVERT and AVX10.2, for shorter vectors or with AVX512_BF16.
    has_bfloats = machine.vector_bits == 512 and "vcvtneps2bf16" in bfloats and machine.cpu not in host.SLOW_BFLOAT_DOTS
    return tuple([*found, "bfloat-dots"] if has_bfloats else found)
