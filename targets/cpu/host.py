"""The processor and the system that this process runs on, and the options of passes that follow from them."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

try:
    import llvmlite.binding
except ImportError as error:
    from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError

    raise DiagnosticError(
        Diagnostic(
            "error",
            f"machine code needs the package llvmlite, which cannot be loaded ({error}): pip install llvmlite; "
            "where it has no wheel, as for macOS on Intel's processors, it can be built from source, and hlo-opt as "
            "far as the llvm dialect and --target=reference do without it",
        )
    ) from error

llvm: Any = llvmlite.binding
"""The package is untyped."""

EXCLUDED_FEATURES = ("avxneconvert", "avx10.2")
"""
Features whose conversions to bfloat flush denormals to zero. AVX512_BF16 has those too, but LLVM only uses what it is
asked for, the dot products: `lowering/convert_to_llvm/narrow.py` converts by integer arithmetic.
"""

SLOW_BFLOAT_DOTS = frozenset({"sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"})
"""
LLVM's names of CPUs that begin a dot product of bf16 every other cycle, but two multiply-adds of f32 in each: half as
many products as on f32. Their matrix units are for bf16, and virtual machines may hide them.
"""


def llvm_version() -> str:
    """ "22.1.0", and llvmlite's version, which determines the build of LLVM."""
    return f"{'.'.join(map(str, llvm.llvm_version_info))} of llvmlite {llvmlite.__version__}"


@lru_cache(maxsize=1)
def host_triple() -> str:
    return str(llvm.get_process_triple())


@lru_cache(maxsize=1)
def host_cpu() -> str:
    """The name of this machine's CPU, as LLVM knows it: "znver4"."""
    return str(llvm.get_host_cpu_name())


@lru_cache(maxsize=1)
def host_features() -> str:
    """This machine's features in LLVM's spelling, without those that change results: "+avx2,+fma,-..."."""
    features: Any = llvm.get_host_cpu_features()
    for name in EXCLUDED_FEATURES:
        if name in features:
            features[name] = False
    return str(features.flatten())


@lru_cache(maxsize=1)
def host_vector_bits() -> int:
    """The width of this machine's vectors: 512 with AVX-512, 256 with AVX2, else 128."""
    features = host_features().split(",")
    if "+avx512f" in features:
        return 512
    return 256 if "+avx2" in features else 128


@lru_cache(maxsize=1)
def host_l2_bytes() -> int | None:
    """The size of a processor's L2 cache, where the system states it: Linux."""
    try:
        text = Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().strip()
    except OSError:
        return None
    found = re.fullmatch(r"(\d+)([KM])", text)
    return int(found[1]) << {"K": 10, "M": 20}[found[2]] if found else None


def slow_subnormals(triple: str, cpu: str) -> bool:
    """
    Whether a CPU by LLVM's names takes a hundred cycles where an operation makes a subnormal number.

    Intel's do, in microcode; AMD's make one in a few cycles more.
    """
    return triple.startswith("x86_64") and not cpu.startswith(("znver", "bdver", "btver"))


def host_dots() -> list[str]:
    """The options of convert-contractions-to-vector for the dot products that are worth it on this machine."""
    features, bits = host_features().split(","), host_vector_bits()
    found: list[str] = []
    if ("+avx512vnni" if bits == 512 else "+avxvnni") in features:
        found.append("byte-dots")
    # AVX-512 multiplies 16-bit integers only with BW.
    if ("+avx512bw" if bits == 512 else "+sse2") in features:
        found.append("pair-dots")
    if bits == 512 and "+avx512bf16" in features and host_cpu() not in SLOW_BFLOAT_DOTS:
        found.append("bfloat-dots")
    return found


def host_soft() -> list[str]:
    """The options of convert-to-llvm for what this machine has no, or only slow, instructions for."""
    if not host_triple().startswith("x86_64"):
        return []
    features = host_features().split(",")
    options = {"+f16c": "soft-half=true", "+fma": "soft-fma=true"}
    lacking = [option for feature, option in options.items() if feature not in features]
    return [*lacking, "slow-masks=true"] if host_vector_bits() == 256 else lacking
