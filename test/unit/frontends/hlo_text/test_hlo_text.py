"""XLA's HLO text as input: every opcode, literals, layouts, locations, headers, and errors at their places."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from hlo_texts import DEVICES, HOST, TEXTS, program
from jax_mlir import shared_context
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.diagnostics.diagnostic import file_location
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.entry import find_entry
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.hlo_dialect.reference.replicas import evaluate_replicas
from xhlo.hlo_dialect.types import numpy_dtype
from xhlo.targets.program.pipeline import run_passes
from xhlo.tools.fuzzing.mutations import mutated

WITHOUT_STABLEHLO = frozenset(("more unary", "top k", "control flow", "layouts", "tokens", "asynchronous"))
"""Texts that XLA reads, but exports with operations of MHLO."""


def _inputs(module: Any, seed: int = 0) -> list[np.ndarray]:
    numbers = np.random.default_rng(seed)
    entry = find_entry(module)
    assert entry is not None
    found: list[np.ndarray] = []
    for type_ in entry.function_type.inputs.data:
        dtype, shape = numpy_dtype(type_.element_type), type_.get_shape()
        assert dtype is not None
        real = dtype.kind == "f"
        found.append((2 * numbers.standard_normal(shape) if real else numbers.integers(1, 9, shape)).astype(dtype))
    return found


def _through_xla(text: str) -> str:
    """The StableHLO that XLA makes of a text."""
    context = shared_context()
    from jaxlib import _hlo, _jax
    from jaxlib.mlir import ir

    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    with context:
        return str(ir.Module.parse(_jax.mlir.hlo_to_stablehlo(proto)))


@pytest.mark.long(3)
@pytest.mark.parametrize("name", [name for name in TEXTS if name not in WITHOUT_STABLEHLO])
def test_means_what_it_means_to_xla(name: str) -> None:
    ours, theirs = parse_module(TEXTS[name], "x.hlo"), parse_module(_through_xla(TEXTS[name]), "xla.mlir")
    inputs = _inputs(ours)
    for mine, xla in zip(evaluate(ours, inputs), evaluate(theirs, inputs), strict=True):
        assert mine.dtype == xla.dtype and mine.shape == xla.shape
        wide = np.complex128 if mine.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(mine.astype(wide), xla.astype(wide), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", list(DEVICES))
def test_collectives_mean_what_they_mean_to_xla(name: str) -> None:
    text = DEVICES[name]
    partitions = 2 if "num_partitions" in text else 1
    ours = parse_module(text, "x.hlo")
    inputs = [_inputs(ours, seed) for seed in (0, 1)]
    results = evaluate_replicas(ours, inputs, num_partitions=partitions)
    if name == "all-to-all of tuples":
        first, second = inputs[0][0], inputs[1][0]
        np.testing.assert_array_equal(results[0][1], second)
        np.testing.assert_array_equal(results[1][0], -first)
        return
    theirs = parse_module(_through_xla(text), "xla.mlir")
    for mine, xla in zip(results, evaluate_replicas(theirs, inputs, num_partitions=partitions), strict=True):
        for one, other in zip(mine, xla, strict=True):
            np.testing.assert_array_equal(one, other)


def _run(name: str, *inputs: Any) -> tuple[np.ndarray, ...]:
    return evaluate(parse_module(TEXTS[name], "x.hlo"), [np.asarray(one) for one in inputs])


def test_functions_of_chlo() -> None:
    x = np.array([0.25, 0.5, 0.75, 1], np.float32)
    found = dict(zip("tan erf acos acosh asin asinh atanh cosh sinh copy".split(), _run("more unary", x), strict=True))
    for name in ("tan", "cosh", "sinh"):
        np.testing.assert_allclose(found[name], getattr(np, name)(x), rtol=1e-6)
    for name in ("acos", "asin", "asinh", "atanh"):
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(found[name], getattr(np, f"arc{name[1:]}")(x), rtol=1e-6)
    np.testing.assert_allclose(found["erf"][1], 0.5204999, rtol=1e-6)
    np.testing.assert_array_equal(found["copy"], x)


def test_layouts_say_where_bytes_lie() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    flat, other, same, wide = _run("layouts", a)
    np.testing.assert_array_equal(flat, a.T.reshape(-1))
    np.testing.assert_array_equal(other, a.T)
    np.testing.assert_array_equal(same, a.view(np.int32))
    np.testing.assert_array_equal(wide, a.view(np.uint16).reshape(2, 3, 2))


def test_tuples_and_control_flow() -> None:
    f, first, second, k = _run("control flow", np.float32(1))
    assert (f, first, second, k) == (40.0, 5.0, 3.0, 10.0)


def test_asynchronous_operations_and_tokens() -> None:
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(_run("asynchronous", x)[0], [0, 2])
    np.testing.assert_array_equal(_run("tokens", x)[0], x)
    values, indices = _run("top k", np.array([[3, 1, 2, 9, 0, 4], [1, 1, 5, 1, 1, 5]], np.float32))
    np.testing.assert_array_equal(values, [[9, 4, 3], [5, 5, 1]])
    np.testing.assert_array_equal(indices, [[3, 5, 0], [2, 5, 0]])


def test_nan_literals_keep_their_bits() -> None:
    text = program("  ROOT a = f32[4]{0} constant({nan, -nan, nan(0x400001), -0.0})")
    bits = evaluate(parse_module(text, "x.hlo"), [])[0].view(np.uint32)
    assert [hex(each) for each in bits] == ["0x7fc00000", "0xffc00000", "0x7fc00001", "0x80000000"]


def test_the_host() -> None:
    names = [op.name for op in parse_module(HOST, "x.hlo").walk() if op.name.startswith("hlo.")]
    assert names == ["hlo.create_token", "hlo.infeed", "hlo.outfeed", "hlo.send", "hlo.recv"]


def test_dynamic_sizes() -> None:
    text = program("""
  a = f32[<=5,3]{1,0} parameter(0)
  n = s32[] parameter(1)
  b = f32[<=5,3]{1,0} negate(a)
  s = f32[<=5,3]{1,0} set-dimension-size(b, n), dimensions={0}
  size = s32[] get-dimension-size(s), dimensions={0}
  flat = f32[<=15]{0} dynamic-reshape(s, size)
  ROOT t = (f32[<=5,3], s32[]) tuple(s, size)""")
    shown = print_module(parse_module(text, "x.hlo"))
    assert "tensor<?x3xf32, #hlo.bounds<5, ?>>" in shown
    assert "hlo.dynamic_reshape" in shown


def test_locations_are_those_of_the_program() -> None:
    text = TEXTS["operands with shapes"]
    module = parse_module(text, "x.hlo")
    (add,) = [op for op in module.walk() if op.name == "hlo.add"]
    assert str(add.location) == 'loc("jit(f)/add"("model.py":8:3))'
    framed = text.replace(
        "ENTRY",
        """FileNames
1 "other.py"
FunctionNames
1 "f"
FileLocations
1 {file_name_id=1 function_name_id=1 line=31 end_line=31 column=4 end_column=9}
StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY""",
    ).replace('source_file="model.py" source_line=8 source_column=3', "stack_frame_id=1")
    (add,) = [op for op in parse_module(framed, "x.hlo").walk() if op.name == "hlo.add"]
    assert str(add.location) == 'loc("jit(f)/add"("other.py":31:4))'


def test_headers() -> None:
    text = program(
        """
  a = f32[2,3]{0,1} parameter(0), sharding={devices=[2,1]<=[2]}
  b = (f32[2], s32[]) parameter(1)
  c = f32[2] get-tuple-element(b), index=0
  n = s32[] get-tuple-element(b), index=1
  d = f32[2,3]{0,1} negate(a), frontend_attributes={k="v"}, backend_config={"x":["1"]}, control-predecessors={a}
  ROOT t = (f32[2,3]{0,1}, (f32[2], s32[])) tuple(d, b), sharding={{devices=[2,1]<=[2]}, {replicated}, {replicated}}""",
        header=", replica_count=2, num_partitions=2, input_output_alias={ {0}: (0, {}, may-alias), {1,0}: (1, {0}, "
        'must-alias) }, buffer_donor={ (1, {1}) }, frontend_attributes={a="1"}, allow_spmd_sharding_propagation_to_output='
        "{true}, entry_computation_layout={(f32[2,3]{0,1}, (f32[2], s32[]))->(f32[2,3]{1,0}, (f32[2], s32[]))}",
    )
    shown = print_module(parse_module(text, "x.hlo"))
    for expected in (
        "mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 2 : i32",
        'mhlo.frontend_attributes = {a = "1"}',
        "mhlo.xla_entry_computation_parameter_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>,",
        '%a: tensor<2x3xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}", tf.aliasing_output = 0 : i32}',
        "%c: tensor<2xf32> {tf.aliasing_output = 1 : i32}",
        "%n: tensor<i32> {jax.buffer_donor}",
        'mhlo.frontend_attributes = {k = "v"}',
        '-> (tensor<2x3xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}, tensor<2xf32> {mhlo.sharding = "{replicated}"}',
    ):
        assert expected in shown, (expected, shown)


def test_custom_calls() -> None:
    text = program("""
  a = f32[3,3]{1,0} parameter(0)
  b = (f32[3,3]{0,1}, s32[]) custom-call(a), custom_call_target="f", operand_layout_constraints={f32[3,3]{0,1}}, output_to_operand_aliasing={{0}: (0, {})}, api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}
  c = f32[3,3]{1,0} get-tuple-element(b), index=0
  ROOT d = f32[3,3]{1,0} custom-call(c), custom_call_target="g", custom_call_has_side_effect=true, backend_config="text \\"quoted\\"", called_computations={add_f32}, schedule=SCHEDULE_LATEST""")
    shown = print_module(parse_module(text, "x.hlo"))
    for expected in (
        "backend_config = {uplo = 76 : ui8}", "operand_layouts = [dense<[0, 1]> : tensor<2xindex>]",
        "result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]", "api_version = 4 : i32",
        "output_tuple_indices = [0]", r'backend_config = "text \22quoted\22"', "called_computations = [@add_f32]",
        "has_side_effect = true", "func.func private @add_f32", "custom_call_schedule = #hlo<custom_call_schedule LATEST>",
    ):  # fmt: skip
        assert expected in shown, (expected, shown)


def test_a_call_is_a_private_function() -> None:
    module = parse_module(TEXTS["control flow"], "x.hlo")
    shown = print_module(module)
    assert "func.func private @double" in shown and "func.call @double" in shown
    run_passes(make_context(), module, ("inline",))
    assert "func.call" not in print_module(module)


A = "  a = f32[4]{0} parameter(0)\n"
ERRORS: dict[str, tuple[str, int, str]] = {
    "unknown opcode": (A + "  ROOT b = f32[4]{0} frobnicate(a)", 5, "'frobnicate': unknown opcode"),
    "refused opcode": (A + "  ROOT b = u64[2]{0} rng-get-and-update-state(), delta=1", 5, "pass the state as an argument"),
    "unknown operand": (A + "  ROOT b = f32[4]{0} negate(c)", 5, "'negate': there is no instruction c before it"),
    "its own operand": (A + "  ROOT b = f32[4]{0} negate(b)", 5, "'negate': there is no instruction b before it"),
    "too many operands": (A + "  ROOT b = f32[4]{0} dot(a), lhs_contracting_dims={0}", 5, "'dot': it takes 2 operands"),
    "operands of elementwise": (A + "  ROOT b = f32[4]{0} add(a)", 5, "'add': it takes 2 operands, there are 1"),
    "unknown attribute": (A + "  ROOT b = f32[4]{0} negate(a), fast=true", 5, "'negate': it has no attribute fast"),
    "missing attribute": (A + "  ROOT b = f32[4]{0} reverse(a)", 5, "'reverse': expected the attribute dimensions"),
    "wrong attribute": (
        A + "  ROOT b = f32[4]{0} reverse(a), dimensions=0", 5, "'reverse': dimensions is '0', expected a list of integers",
    ),
    "repeated attribute": (
        A + "  ROOT b = f32[4]{0} reverse(a), dimensions={0}, dimensions={0}", 5, "the attribute dimensions is given twice",
    ),
    "wrong shape": (A + "  ROOT b = f32[5]{0} negate(a)", 5, "'hlo.negate' op negate_c1: result has type tensor<5xf32>"),
    "open shape": ("  a = f32[4 parameter(0)\n  ROOT b = f32[4]{0} negate(a)", 4, "expected a shape, such as f32"),
    "unknown type": (A + "  ROOT b = f31[4]{0} negate(a)", 5, "'f31': unknown type"),
    "no counterpart": (A + "  ROOT b = opaque[] negate(a)", 5, "'opaque': hlo has no counterpart of this type"),
    "no layout": (A + "  ROOT b = f32[4]{1} negate(a)", 5, "the layout {1} does not order 1 dimensions"),
    "huge size": (A + "  ROOT b = f32[9999999999999999999]{0} negate(a)", 5, "does not fit into 64 bits"),
    "two of a name": (A + "  a = f32[4]{0} negate(a)", 5, "main has two instructions named a"),
    "two roots": (A + "  ROOT b = f32[4] negate(a)\n  ROOT c = f32[4] negate(a)", 6, "two instructions marked ROOT"),
    "two of a parameter": (A + "  ROOT b = f32[4] parameter(0)", 5, "'parameter': main has two parameters 0"),
    "missing parameter": (A.replace("(0)", "(1)"), 3, "the parameters of main are not numbered 0, 1, ..: 1"),
    "no such computation": (
        A + "  ROOT b = f32[4]{0} call(a), to_apply=f", 5, "'call': there is no computation f before it",
    ),
    "wrong literal": (A + "  ROOT b = f32[2] constant({1, 2, 3})", 5, "'constant': the braces are not those of an array"),
    "wrong number": (A + "  ROOT b = s8[2] constant({1, 300})", 5, "'constant': 300 does not fit into s8"),
    "wrong word": (A + "  ROOT b = f32[2] constant({1, x})", 5, "'constant': 'x' is no number"),
    "elided literal": (A + "  ROOT b = f32[200] constant({...})", 5, "'constant': the values were left out"),
    "index of tuple": (
        A + "  t = (f32[4]) tuple(a)\n  ROOT b = f32[4] get-tuple-element(t), index=1", 6, "index 1 is not in a tuple of 1",
    ),
    "huge index of tuple": (
        A + "  t = (f32[4]) tuple(a)\n  ROOT b = f32[4] get-tuple-element(t), index=10000000000", 6, "is not in a tuple of 1",
    ),
    "not a tuple": (A + "  ROOT b = f32[4] get-tuple-element(a), index=0", 5, "the operand is no tuple"),
    "tuple as array": (A + "  t = (f32[4]) tuple(a)\n  ROOT b = f32[4] negate(t)", 6, "operand 0 is a tuple"),
    "bytes of bitcast": (A + "  ROOT b = f32[3] bitcast(a)", 5, "'bitcast': tensor<4xf32> and tensor<3xf32> do not take"),
    "context": (
        A + "  s = (f32[4], f32[4], u32[]) copy-start(a)\n  c = u32[] get-tuple-element(s), index=2\n"
        "  ROOT b = u32[] negate(c)", 7, "operand 0 is a tuple" ,
    ),
    "runtime call": (
        A + '  ROOT b = f32[4] custom-call(a), custom_call_target="__cpu$softmax"', 5, "a call of XLA's own runtime",
    ),
    "unclosed": (A + "  ROOT b = f32[4] negate(a", 5, "'(' is not closed before '}'"),
    "window": (
        A + "  z = f32[] constant(0)\n  ROOT b = f32[4] reduce-window(a, z), window={size=2x2 stride=1}, to_apply=add_f32",
        8, "'reduce-window': window is '{size=2x2 stride=1}', expected a window whose entries all have 2 dimensions",
    ),
    "groups": (
        A + "  ROOT b = f32[4] all-reduce(a), replica_groups=[2,2]<=[5], to_apply=add_f32", 7,
        "replica_groups is '[2,2]<=[5]', expected an iota of as many devices",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors_are_at_their_place(name: str) -> None:
    entry, line, message = ERRORS[name]
    with pytest.raises(DiagnosticError) as caught:
        parse_module(program(entry), "x.hlo")
    found = caught.value.diagnostics[0]
    place = file_location(found.location)
    assert place is not None and place.filename.data == "x.hlo"
    assert message in found.message, found.message
    assert place.line.data == line, (found.message, program(entry))


def test_errors_of_headers() -> None:
    for header, message in (
        (", num_partitions=0", "num_partitions is '0', expected a number from 1"),
        (", frob=1", "a module has no attribute frob"),
        (", buffer_donor={ (3, {}) }", "there is no parameter 3"),
        (", entry_computation_layout={(f32[5]{0})->f32[4]{0}}", "has other shapes than the entry"),
    ):
        with pytest.raises(DiagnosticError, match=message.replace("(", r"\(")):
            parse_module(program(A, header=header), "x.hlo")


@pytest.mark.long
def test_shapes_may_be_left_out() -> None:
    left_out = 0
    for text in (*TEXTS.values(), *DEVICES.values(), HOST):
        lines, wanted = text.split("\n"), print_module(parse_module(text, "x.hlo"))
        for number, line in enumerate(lines):
            match = _INSTRUCTION.match(line)
            if match is None:
                continue
            changed = "\n".join((*lines[:number], f"{match[1]}{match[2]}", *lines[number + 1 :]))
            try:
                module = parse_module(changed, "x.hlo")
            except DiagnosticError as error:
                assert "its shape is not stated" in str(error), error
            else:
                assert print_module(module) == wanted
                left_out += 1
    assert left_out > 100


_INSTRUCTION = re.compile(r"(\s*(?:ROOT )?%?[\w.-]+ = )(?:\(.*?\)+|\S+) ((?!parameter|constant|copy\()[a-z][\w-]*\(.*)")


@pytest.mark.long
def test_a_program_may_not_grow_without_bound() -> None:
    levels = ["f0 { x = f32[] parameter(0)  ROOT r = f32[] negate(x) }"]
    for level in range(1, 40):
        calls = f"a = f32[] fusion(x), kind=kLoop, calls=f{level - 1}  ROOT r = f32[] fusion(a), kind=kLoop, calls=f{level - 1}"
        levels.append(f"f{level} {{ x = f32[] parameter(0)  {calls} }}")
    text = program(
        "  x = f32[] parameter(0)\n  ROOT y = f32[] fusion(x), kind=kLoop, calls=f39", before="\n".join(levels)
    )
    with pytest.raises(DiagnosticError, match="is used too often"):
        parse_module(text, "x.hlo")


def test_deep_programs_are_refused() -> None:
    levels = ["f0 { x = f32[] parameter(0)  ROOT r = f32[] negate(x) }"]
    levels += [f"f{n} {{ x = f32[] parameter(0)  ROOT r = f32[] call(x), to_apply=f{n - 1} }}" for n in range(1, 200)]
    text = program("  x = f32[] parameter(0)\n  ROOT y = f32[] call(x), to_apply=f199", before="\n".join(levels))
    with pytest.raises(DiagnosticError, match="called more than 64 deep"):
        parse_module(text, "x.hlo")


def test_damaged_texts_are_refused_at_their_place() -> None:
    texts = [*TEXTS.values(), *DEVICES.values(), HOST]
    read = 0
    for seed in range(150):
        numbers = random.Random(seed)
        text = mutated(numbers, numbers.choice(texts)).decode(errors="replace")
        try:
            parse_module(text, "x.hlo")
            read += 1
        except DiagnosticError as error:
            assert all(file_location(one.location) is not None for one in error.diagnostics), (seed, error)
    assert 10 < read < 140


def test_mlir_is_not_taken_for_hlo_text() -> None:
    for text in ("module {\n}\n", "// ENTRY\nfunc.func @main() { return }", "builtin.module @HloModule {}", ""):
        parse_module(text, "x.mlir")
