"""The image of a CPU executable as bytes, and back; targets/program/container.py defines the format."""

from __future__ import annotations

from functools import lru_cache

from ...hlo_dialect.installed import version_of
from ..program.container import Serialized, check_environment, pack
from ..program.fields import facts_fields, facts_of
from ..program.source import Source
from . import host
from .image import Image


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """The properties in which the compiling and the loading machine must agree."""
    return {
        "xhlo": version_of("xhlo"),
        "LLVM": host.llvm_version(),
        "target triple": host.host_triple(),
        "CPU": host.host_cpu(),
        "CPU features": host.host_features(),
    }


def serialize(image: Image, source: Source | None) -> bytes:
    """The image as bytes, with the program's text if it is known."""
    sections = {f"code {number}": each for number, each in enumerate(image.code)} | {
        f"data {name}": content for name, content in image.data.items()
    }
    return pack("cpu", environment(), facts_fields(image.facts), sections, source)


def read_image(serialized: Serialized) -> Image:
    """The image that `serialize` wrote. Raises ValueError for another version or CPU."""
    header, sections = serialized.header, serialized.sections
    check_environment(header["environment"], environment())
    return Image(
        code=tuple(content for name, content in sections.items() if name.startswith("code ")),
        data={name[5:]: content for name, content in sections.items() if name.startswith("data ")},
        facts=facts_of(header),
    )
