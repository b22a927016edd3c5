"""A compiled program as the plugin keeps it, as bytes, and from the cache of programs."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from ...targets.cache.executables import key_of
from ...targets.cache.files import kept
from ...targets.compile import load_executable
from ...targets.cpu.executable import CpuExecutable
from ...targets.cpu.target import CPU
from ...targets.program.container import reading_fields
from ...targets.program.guard_side import guard_side
from ...targets.program.pipeline import DUMP_VARIABLE
from . import SUBNORMALS
from .c_api import Code
from .compile_options import DUMP_TO
from .entries import PluginError
from .protos import CompileOptions, read_compile_options

TARGET = CPU.configured({"subnormals": SUBNORMALS})
"""Programs are compiled for it."""

Layouts = list[list[int] | None]
"""Per argument or result: its dimensions from minor to major; None for row-major, and what is no array."""

Shardings = tuple[list[bytes] | None, list[bytes] | None]
"""Per argument and per result, a serialized `xla.OpSharding`; None for a program of one device."""


def logical_shape(shape: Sequence[int], order: Sequence[int] | None) -> tuple[int, ...]:
    """The inverse of `physical_shape`."""
    if order is None:
        return tuple(shape)
    sizes = dict(zip(reversed(order), shape, strict=True))
    return tuple(sizes[axis] for axis in range(len(shape)))


@dataclass
class Compiled:
    """An executable and the facts about its program that the plugin needs."""

    executable: CpuExecutable
    name: str
    donated: list[bool]
    """Per argument, whether its buffer may be reused."""
    source: str
    """StableHLO text."""
    tokens: tuple[list[bool], list[bool]] = field(default_factory=lambda: ([], []))
    """Per argument and per result, whether it is a token, which machine code does not see."""
    optimized: str = ""
    """The StableHLO text that JAX shows as the compiled program; if empty, the source."""
    options: CompileOptions = field(default_factory=CompileOptions)
    layouts: tuple[Layouts, Layouts] = field(default_factory=lambda: ([], []))
    """Per argument and per result, the order of dimensions in memory."""
    shardings: Shardings = (None, None)
    """How arguments and results are split among devices."""


@dataclass
class Artifact:
    """A program as JAX serialized it, in the form that it names."""

    code: bytes
    form: str

    @cached_property
    def text(self) -> str:
        """Its StableHLO text, without locations. Raises PluginError as `read` does."""
        return self.read(locations=False)

    def read(self, locations: bool) -> str:
        """
        Its StableHLO text.

        Raises PluginError for other forms than portable artifacts, and where jaxlib cannot read it.
        """
        if self.form != "mlir":
            raise PluginError(Code.UNIMPLEMENTED, f"xhlo compiles programs of the format 'mlir', not '{self.form}'")
        import jaxlib.mlir.ir as mlir
        from jaxlib.mlir.dialects import chlo, sdy, stablehlo

        ir: Any = mlir
        with ir.Context() as context:
            for dialect in (stablehlo, chlo, sdy):
                cast("Any", dialect).register_dialect(context)
            try:
                module = stablehlo.deserialize_portable_artifact(context, self.code)
            except Exception as error:
                raise PluginError(Code.INVALID_ARGUMENT, f"the program cannot be deserialized: {error}") from None
            return str(module.operation.get_asm(enable_debug_info=locations))


_HEADER = struct.Struct("<4s32sQQ")
"""Magic, SHA-256 of what follows, the sizes of the facts and of the executable."""

_MAGIC = b"XJAX"


def to_bytes(compiled: Compiled) -> bytes:
    """The executable's own bytes, after the facts that JAX needs. Raises ValueError for what calls Python functions."""
    code = compiled.executable.serialize()
    about = json.dumps(
        {
            "name": compiled.name,
            "donated": compiled.donated,
            "tokens": compiled.tokens,
            "layouts": compiled.layouts,
            "shardings": [each if each is None else [one.hex() for one in each] for each in compiled.shardings],
            "optimized": compiled.optimized,
            "options": compiled.options.serialized.hex(),
        }
    ).encode()
    digest = hashlib.sha256(about + code).digest()
    return _HEADER.pack(_MAGIC, digest, len(about), len(code)) + about + code


def from_bytes(data: bytes, options: bytes = b"") -> Compiled:
    """The program that `to_bytes` wrote, with other options if there are any. Raises ValueError."""
    try:
        with reading_fields():
            return _read(data, options)
    except struct.error as error:
        raise ValueError(str(error)) from None


def _read(data: bytes, options: bytes) -> Compiled:
    magic, digest, about_size, code_size = _HEADER.unpack_from(data)
    payload = data[_HEADER.size :]
    if magic != _MAGIC or len(payload) != about_size + code_size or hashlib.sha256(payload).digest() != digest:
        raise ValueError("it is damaged or cut off, or was not made by this version of xhlo")
    about = json.loads(payload[:about_size])
    executable = load_executable(payload[about_size:])
    if not isinstance(executable, CpuExecutable):
        raise ValueError("it was compiled for another target than the CPU")
    if not len(about["donated"]) == len(about["layouts"][0]) == len(about["tokens"][0]):
        raise ValueError("its facts contradict each other")
    source = executable.source.text if executable.source is not None else ""
    return Compiled(
        executable,
        about["name"],
        about["donated"],
        source,
        about["tokens"],
        about["optimized"],
        read_compile_options(options or bytes.fromhex(about["options"])),
        about["layouts"],
        _read_shardings(about["shardings"]),
    )


def _read_shardings(about: list[list[str] | None]) -> Shardings:
    inputs, outputs = (None if each is None else [bytes.fromhex(one) for one in each] for each in about)
    return inputs, outputs


def kept_program(artifact: Artifact, options: CompileOptions, compile_: Callable[[], Compiled]) -> Compiled:
    """
    The compiled form of a serialized program: from the cache, or made by `compile_` and stored there if possible.

    It is found by the program's text, which does not change with the places in Python's sources that the artifact
    names; and the text's digest by the artifact, so that a program is not read again where these are the same, too.
    """
    # Programs that call Python functions or libraries name their target, also in bytecode.
    key = None if guard_side(None) or _is_dumped(options) else key_of(TARGET, b"custom_call" in artifact.code)
    if key is None:
        return compile_()
    digest = kept(
        [*key, "jax", hashlib.sha256(artifact.code).hexdigest(), artifact.form],
        ".text",
        lambda: hashlib.sha256(artifact.text.encode()).hexdigest(),
        str.encode,
        bytes.decode,
    )
    # The serialized options hold all of XLA's in any order; the rest of them has no effect.
    key += ["jax", digest, options.num_replicas, options.num_partitions, sorted(options.overrides.items())]
    return kept(key, ".jax", compile_, _bytes_of, lambda data: from_bytes(data, options.serialized))


def _is_dumped(options: CompileOptions) -> bool:
    return bool(os.environ.get(DUMP_VARIABLE) or options.overrides.get(DUMP_TO))


def _bytes_of(compiled: Compiled) -> bytes | None:
    try:
        return to_bytes(compiled)
    except ValueError:
        return None
