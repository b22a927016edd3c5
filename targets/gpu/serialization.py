"""The image of a GPU executable as bytes, and back; targets/program/container.py defines the format."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from importlib import metadata
from typing import Any

from ...dialects.gpu.library import Matmul, Matrix
from ..program.container import Serialized, check_environment, pack
from ..program.fields import facts_fields, facts_of
from ..program.source import Source
from .image import GpuImage
from .runtime.host_program import (
    CopyStep,
    HostCallStep,
    HostProgram,
    LaunchStep,
    LibraryStep,
    Place,
    ReadStep,
    Step,
    Steps,
    SwitchStep,
    WhileStep,
)


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """The properties in which the compiling and the loading process must agree; the chip is checked at run time."""
    return {"xhlo": metadata.version("xhlo")}


def serialize(image: GpuImage, source: Source | None, target: str) -> bytes:
    """The image as bytes, for the target of that name, with the program's text if it is known."""
    header = {
        "chip": image.chip,
        "host": {
            "steps": _steps_fields(image.host.steps),
            "parameters": image.host.parameters,
            "registers": image.host.registers,
        },
        **facts_fields(image.facts),
    }
    sections = {"cubin": image.cubin, "ptx": image.ptx.encode(), "constants": image.host.constants}
    return pack(target, environment(), header, sections, source)


def read_image(serialized: Serialized) -> GpuImage:
    """The image that `serialize` wrote. Raises ValueError for another version."""
    header, sections = serialized.header, serialized.sections
    check_environment(header["environment"], environment())
    host = header["host"]
    return GpuImage(
        chip=header["chip"],
        cubin=sections["cubin"],
        ptx=sections["ptx"].decode(),
        host=HostProgram(_steps_of(host["steps"]), host["parameters"], host["registers"], sections["constants"]),
        facts=facts_of(header),
    )


# Steps, each written as its kind and its fields.


def _steps_fields(steps: Steps) -> list[Any]:
    return [_step_fields(step) for step in steps]


def _step_fields(step: Step) -> list[Any]:
    match step:
        case WhileStep(register, first, again):
            return ["while", register, _steps_fields(first), _steps_fields(again)]
        case SwitchStep(register, cases, default):
            numbered = [[number, _steps_fields(case)] for number, case in cases]
            return ["switch", register, numbered, _steps_fields(default)]
        case LaunchStep():
            return ["launch", asdict(step) | {"arguments": _places(step.arguments)}]
        case LibraryStep(problem, kernel, call, arguments):
            return ["matmul", asdict(problem), kernel, call, _places(arguments)]
        case CopyStep(target, source, nbytes):
            return ["copy", *_places((target, source)), nbytes]
        case ReadStep(register, place, dtype):
            return ["read", register, *_places((place,)), dtype]
        case HostCallStep(kernel, call, index, buffers):
            return ["call", kernel, call, index, _places(buffers)]


def _places(places: tuple[Place, ...]) -> list[list[int]]:
    return [[place.slot, place.offset] for place in places]


def _steps_of(fields: list[Any]) -> Steps:
    return tuple(map(_step_of, fields))


def _step_of(fields: list[Any]) -> Step:
    match fields:
        case ["while", register, first, again]:
            return WhileStep(register, _steps_of(first), _steps_of(again))
        case ["switch", register, cases, default]:
            return SwitchStep(register, tuple((number, _steps_of(case)) for number, case in cases), _steps_of(default))
        case ["launch", launch]:
            dims = {name: tuple(launch[name]) for name in ("grid", "block")}
            return LaunchStep(**(launch | dims | {"arguments": _places_of(launch["arguments"])}))
        case ["matmul", problem, kernel, call, arguments]:
            matrices = {name: Matrix(**problem[name]) for name in ("lhs", "rhs", "out")}
            return LibraryStep(Matmul(**(problem | matrices)), kernel, call, _places_of(arguments))
        case ["copy", target, source, nbytes]:
            return CopyStep(Place(*target), Place(*source), nbytes)
        case ["read", register, place, dtype]:
            return ReadStep(register, Place(*place), dtype)
        case ["call", kernel, call, index, buffers]:
            return HostCallStep(kernel, call, index, _places_of(buffers))
        case _:
            raise ValueError(f"the serialized executable has a step that is unknown here: {fields[0]}")


def _places_of(fields: list[list[int]]) -> tuple[Place, ...]:
    return tuple(Place(*place) for place in fields)
