"""Shared libraries for Apple's systems and Windows, by lld."""

from __future__ import annotations

import pytest

from xhlo.targets.ahead import linking
from xhlo.targets.ahead.library import compile_ahead
from xhlo.targets.ahead.linking import LinkError
from xhlo.targets.ahead.object_symbols import object_symbols

PROGRAM = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}"""


@pytest.mark.parametrize("triple", ["arm64-apple-macos", "x86_64-apple-darwin", "x86_64-windows-msvc"])
def test_shared_libraries_of_other_systems(triple: str) -> None:
    library = compile_ahead(PROGRAM, triple=triple, threads="callback")
    names = {"model_run", "model_set_parallel_for"}
    try:
        made = library.shared_library
    except LinkError as error:
        pytest.skip(str(error))
    assert made == library.shared_library, "the same bytes"
    name = "model.dll" if "windows" in triple else "libmodel.dylib"
    assert library.files(["shared"])[name] == made
    if "windows" in triple:
        assert made[:2] == b"MZ" and all(name.encode() + b"\0" in made for name in names)
    else:
        assert b"/usr/lib/libSystem.B.dylib\0" in made and b"@rpath/libmodel.dylib\0" in made
        assert names <= {name for name, defined in object_symbols(made, library.machine.format) if defined}


def test_without_a_linker_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(linking, "_found", nothing)
    for triple, way in (("arm64-apple-macos", "ld64.lld.*on a Mac"), ("x86_64-windows-msvc", "lld-link.*on Windows")):
        with pytest.raises(LinkError, match=way):
            _ = compile_ahead(PROGRAM, triple=triple).shared_library
