"""e^x by the instruction that multiplies by powers of two, without it, and where it is only added: the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from xhlo.targets.cpu.target import Cpu


def exponential(size: int, type_: str, scalings: bool) -> xhlo.Executable:
    """The compiled function, with expand-math's option `scalings` as given, whatever this machine has."""
    shape = f"tensor<{size}x{type_}>"
    text = f"func.func @main(%x: {shape}) -> {shape} {{ %0 = stablehlo.exponential %x : {shape} return %0 : {shape} }}"
    return compiled(text, f"scalings={str(scalings).lower()}")


def compiled(text: str, options: str) -> xhlo.Executable:
    """The program, with these options of expand-math."""
    option = f"expand-math{{{options}}}"
    tune = Cpu.tune

    def chosen(self: Cpu, spec: str) -> str:
        return option if spec == "expand-math" else tune(self, spec)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cpu, "tune", chosen)
        return xhlo.compile(text)


def arguments(size: int, wide: bool) -> np.ndarray:
    """Bit patterns of all kinds, and values where results are subnormal, or nearly overflow."""
    random = np.random.default_rng(0)
    limits = (-746, -707, 709, 711) if wide else (-105, -86, 88, 90)
    bits = random.integers(0, 1 << 63, size // 4, np.int64) * 2 + 1
    patterns = bits.view(np.float64) if wide else (bits >> 31).astype(np.uint32).view(np.float32)
    near = [random.uniform(low, high, size // 4) for low, high in (limits[:2], limits[2:])]
    usual = [*random.uniform(-60, 60, size // 4 - 5), 0.0, -0.0, np.inf, -np.inf, np.nan]
    return np.concatenate([patterns, np.concatenate([*near, usual]).astype(patterns.dtype)])


@pytest.mark.long(2)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_the_instruction_changes_no_bits(type_: str) -> None:
    # Sizes that no other test uses: equal programs are compiled once per process.
    one, other = exponential(20_012, type_, scalings=True), exponential(20_016, type_, scalings=False)
    x = arguments(20_012, type_ == "f64")
    scaled, plain = one(x), other(np.append(x, x[:4]))[:-4]
    assert np.array_equal(np.isnan(scaled), np.isnan(plain)) and np.isnan(scaled).any()
    numbers = ~np.isnan(plain)
    assert scaled[numbers].tobytes() == plain[numbers].tobytes()
    assert np.isinf(plain).any() and ((plain > 0) & (plain < np.finfo(plain.dtype).tiny)).any()


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize("sign", ["", "negative"])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_a_power_that_is_only_added_has_the_same_bits(type_: str, sign: str, bits: int) -> None:
    # Sizes of their own, as above: with short vectors polynomials of f64 are evaluated in another order.
    size = 20_024 + bits
    shape = f"tensor<{size}x{type_}>"
    argument = f"%a = stablehlo.abs %x : {shape} %y = stablehlo.negate %a : {shape}" if sign else ""
    power = f"%0 = stablehlo.exponential %{'y' if sign else 'x'} : {shape}"
    added = f"""func.func @main(%x: {shape}, %z: {shape}) -> {shape} {{
      {argument} {power} %1 = stablehlo.add %0, %z : {shape} return %1 : {shape} }}"""
    scalings = f"vector-bits={bits} scalings={str(bits == 512).lower()}"
    by_integers = compiled(added, f"{scalings} slow-subnormals=true")
    assert "summed" in by_integers.as_text("llvm")
    x = arguments(size, type_ == "f64")
    plain = compiled(f"func.func @main(%x: {shape}) -> {shape} {{ {argument} {power} return %0 : {shape} }}", scalings)(
        x
    )
    result = by_integers(x, np.zeros_like(x))
    assert np.array_equal(np.isnan(result), np.isnan(plain)) and np.isnan(result).any()
    numbers = ~np.isnan(plain)
    assert result[numbers].tobytes() == plain[numbers].tobytes()
    assert ((plain > 0) & (plain < np.finfo(plain.dtype).tiny)).any()


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_a_sign_that_is_known_changes_no_bits(type_: str) -> None:
    # As above, a size of its own.
    shape = f"tensor<20020x{type_}>"
    text = f"func.func @main(%x: {shape}) -> {shape} {{ %0 = stablehlo.exponential %x : {shape} return %0 : {shape} }}"
    unknown = xhlo.compile(text)
    known = xhlo.compile(f"""
    func.func @main(%x: {shape}) -> {shape} {{
      %0 = stablehlo.abs %x : {shape}
      %1 = stablehlo.negate %0 : {shape}
      %2 = stablehlo.exponential %1 : {shape}
      return %2 : {shape}
    }}""")
    assert "xhlo.not_above_zero" in known.as_text("linalg")
    x = arguments(20_020, type_ == "f64")
    # NaN of all kinds, with bits that a sum of exponents would change.
    x[:64] = np.inf
    x[:64].view(np.int32 if type_ == "f32" else np.int64)[:] |= np.arange(1, 65) << (0 if type_ == "f32" else 1)
    bounded = known(x)
    plain = unknown(-np.abs(x))
    assert np.isnan(bounded[:64]).all() and np.array_equal(np.isnan(bounded), np.isnan(plain))
    numbers = ~np.isnan(plain)
    assert bounded[numbers].tobytes() == plain[numbers].tobytes()
    assert ((bounded > 0) & (bounded < np.finfo(x.dtype).tiny)).any()
