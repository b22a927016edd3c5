"""Collectives on simulated grids and on the CPU's threads, against the spec's formulas on lists; tokens in programs."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from xhlo.hlo_dialect.collectives.process_groups import Grouping, process_groups
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference.replicas import evaluate_replicas
from xhlo.targets.cpu.replicated import compile_replicated

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
ADD = """({
    ^bb0(%x: tensor<E>, %y: tensor<E>):
      %s = stablehlo.OP %x, %y : tensor<E>
      stablehlo.return %s : tensor<E>
    })"""


def module(body: str, types: str):
    """A module whose `@main` takes %a and returns %r; `types` is its function type."""
    source, result = types.split(" -> ")
    text = f"func.func @main(%a: {source}) -> {result} {{\n    {body} : ({source}) -> {result}\n    return %r : {result}\n}}"
    return parse_module(text, "test", make_context())


def arrays(count: int, shape: tuple[int, ...], dtype: type = np.int32) -> list[list[np.ndarray]]:
    numbers = np.random.default_rng(0)
    return [[numbers.integers(-50, 50, shape).astype(dtype)] for _ in range(count)]


def run(body: str, types: str, inputs: list[list[np.ndarray]], partitions: int = 1) -> list[np.ndarray]:
    """The results on the reference, which must equal those on the CPU's threads."""
    results = evaluate_replicas(module(body, types), inputs, num_partitions=partitions)
    compiled = compile_replicated(module(body, types), len(inputs) // partitions, partitions)(inputs)
    for (wanted,), (actual,) in zip(results, compiled, strict=True):
        assert actual.dtype == wanted.dtype
        np.testing.assert_array_equal(actual, wanted)
    return [result for (result,) in results]


def test_process_groups_are_the_spec_s() -> None:
    groups = ((0, 1), (2, 3))
    assert process_groups(Grouping.CROSS_REPLICA, groups, 4, 2) == [
        ((0, 0), (1, 0)),
        ((0, 1), (1, 1)),
        ((2, 0), (3, 0)),
        ((2, 1), (3, 1)),
    ]
    assert process_groups(Grouping.CROSS_PARTITION, ((0, 1),), 2, 2) == [((0, 0), (0, 1)), ((1, 0), (1, 1))]
    assert process_groups(Grouping.CROSS_REPLICA_AND_PARTITION, groups, 4, 2) == [
        ((0, 0), (1, 0), (0, 1), (1, 1)),
        ((2, 0), (3, 0), (2, 1), (3, 1)),
    ]
    assert process_groups(Grouping.FLATTENED_IDS, groups, 2, 2) == [((0, 0), (0, 1)), ((1, 0), (1, 1))]


STRATEGIES = (
    ("", 4, 1, [[0, 2], [1, 3]], [[0, 2], [1, 3]]),
    ("", 2, 2, [[1, 0]], [[2, 0], [3, 1]]),
    (f", {CHANNEL}", 2, 2, [[0], [1]], [[0, 1], [2, 3]]),
    (f", {CHANNEL}, use_global_device_ids", 2, 2, [[3, 0], [1, 2]], [[3, 0], [1, 2]]),
)
"""Attributes, replicas, partitions, replica_groups, and the processes (replica * partitions + partition) of each."""


def dense(rows: list[list[int]]) -> str:
    return f"dense<{rows}> : tensor<{len(rows)}x{len(rows[0])}xi64>"


@pytest.mark.parametrize(("attributes", "replicas", "partitions", "groups", "processes"), STRATEGIES)
def test_gather_and_reduce(attributes, replicas, partitions, groups, processes) -> None:
    inputs = arrays(replicas * partitions, (2, 4))
    named = f"replica_groups = {dense(groups)}{attributes}"
    gather = f'%r = "stablehlo.all_gather"(%a) {{all_gather_dim = 1 : i64, {named}}}'
    gathered = run(gather, "tensor<2x4xi32> -> tensor<2x8xi32>", inputs, partitions)
    body = ADD.replace("OP", "add").replace("E", "i32")
    reduce = f'%r = "stablehlo.all_reduce"(%a) {body} {{{named}}}'
    reduced = run(reduce, "tensor<2x4xi32> -> tensor<2x4xi32>", inputs, partitions)
    scatter = f'%r = "stablehlo.reduce_scatter"(%a) {body} {{scatter_dimension = 1 : i64, {named}}}'
    scattered = run(scatter, "tensor<2x4xi32> -> tensor<2x2xi32>", inputs, partitions)
    for group in processes:
        members = [inputs[number][0] for number in group]
        for index, number in enumerate(group):
            np.testing.assert_array_equal(gathered[number], np.concatenate(members, 1))
            np.testing.assert_array_equal(reduced[number], sum(members))
            np.testing.assert_array_equal(scattered[number], sum(members)[:, 2 * index : 2 * index + 2])


@pytest.mark.parametrize(("split", "concat"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_all_to_all(split: int, concat: int) -> None:
    inputs = arrays(4, (4, 6))
    shape = [4, 6]
    shape[split] //= 2
    shape[concat] *= 2
    named = f"split_dimension = {split} : i64, concat_dimension = {concat} : i64, split_count = 2 : i64"
    body = f'%r = "stablehlo.all_to_all"(%a) {{{named}, replica_groups = {dense([[0, 3], [2, 1]])}}}'
    results = run(body, f"tensor<4x6xi32> -> tensor<{shape[0]}x{shape[1]}xi32>", inputs)
    for group in ([0, 3], [2, 1]):
        parts = {sender: np.split(inputs[sender][0], 2, split) for sender in group}
        for index, number in enumerate(group):
            wanted = np.concatenate([parts[sender][index] for sender in group], concat)
            np.testing.assert_array_equal(results[number], wanted)


ROOTS = """func.func @main(%a: tensor<3xi32>, %b: tensor<2xf32>, %r: tensor<2xi32>) -> (tensor<3xi32>, tensor<2xf32>) {
  %0:2 = "stablehlo.collective_broadcast"(%a, %b, %r) {
    replica_groups = dense<[[2, 0]]> : tensor<1x2xi64>, has_dynamic_root
  } : (tensor<3xi32>, tensor<2xf32>, tensor<2xi32>) -> (tensor<3xi32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<3xi32>, tensor<2xf32>
}"""


def test_broadcast_from_the_roots_of_a_group() -> None:
    """Roots are indices in the group, one for each operand; process 1 is in no group."""
    parsed = parse_module(ROOTS, "test", make_context())
    inputs = [[np.full(3, i, np.int32), np.full(2, i, np.float32), np.array([1, 0], np.int32)] for i in (5, 6, 7)]
    wanted = [(5, 7), (0, 0), (5, 7)]
    for results in (evaluate_replicas(parsed, inputs), compile_replicated(parsed, 3, 1)(inputs)):
        for process, (first, second) in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(process[0], np.full(3, first))
            np.testing.assert_array_equal(process[1], np.full(2, second))
    for process in inputs:
        process[2] = np.array([0, 2], np.int32)
    with pytest.raises(DiagnosticError, match=r"the roots \[0, 2\] are not all in \[0, 2\)"):
        evaluate_replicas(parse_module(ROOTS, "test", make_context()), inputs)


def test_broadcast_and_permute() -> None:
    inputs = arrays(5, (3,))
    types = "tensor<3xi32> -> tensor<3xi32>"
    broadcast = run(f'%r = "stablehlo.collective_broadcast"(%a) {{replica_groups = {dense([[3, 1]])}}}', types, inputs)
    for number, result in enumerate(broadcast):
        np.testing.assert_array_equal(result, inputs[3][0] if number in (1, 3) else 0)
    pairs = [[0, 1], [1, 2], [4, 4]]
    permuted = run(f'%r = "stablehlo.collective_permute"(%a) {{source_target_pairs = {dense(pairs)}}}', types, inputs)
    sources = {target: source for source, target in pairs}
    for number, result in enumerate(permuted):
        np.testing.assert_array_equal(result, inputs[sources[number]][0] if number in sources else 0)


def test_permute_of_partitions() -> None:
    inputs = arrays(4, (3,))
    body = f'%r = "stablehlo.collective_permute"(%a) {{source_target_pairs = {dense([[0, 1]])}, {CHANNEL}}}'
    results = run(body, "tensor<3xi32> -> tensor<3xi32>", inputs, partitions=2)
    for replica in range(2):
        np.testing.assert_array_equal(results[2 * replica], 0)
        np.testing.assert_array_equal(results[2 * replica + 1], inputs[2 * replica][0])


def test_reductions_promote_round_and_keep_order() -> None:
    inputs = [[np.array([value], np.float16)] for value in (2048, 1, 1)]
    groups = "replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>"
    for element, wanted in (("f16", 2048), ("f32", 2050)):
        body = ADD.replace("OP", "add").replace("E", element)
        results = run(
            f'%r = "stablehlo.all_reduce"(%a) {body} {{{groups}}}', f"tensor<1xf16> -> tensor<1x{element}>", inputs
        )
        assert [result.item() for result in results] == [wanted] * 3
    ordered = run(
        f'%r = "stablehlo.all_reduce"(%a) {ADD.replace("OP %x, %y", "subtract %x, %y").replace("E", "f16")} {{{groups}}}',
        "tensor<1xf16> -> tensor<1xf16>",
        inputs,
    )
    assert ordered[0].item() == (np.float16(2048) - np.float16(1)) - np.float16(1)


def test_mesh_axes_name_groups() -> None:
    mesh = '#stablehlo.mesh<axes = [<name = "x", size = 2>, <name = "y", size = 4>]>'
    inputs = [[np.array([number], np.int32)] for number in range(8)]
    cases = (
        ('<name = "x">', "2", lambda n: [n % 4, n % 4 + 4]),
        ('<name = "y", sub_axis_info = (1)2>', "2", lambda n: [n & ~2, n | 2]),
        ('<name = "y", sub_axis_info = (2)2>', "2", lambda n: [n & ~1, n | 1]),
    )
    for axis, size, group in cases:
        named = (
            f"replica_groups = #stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = [#stablehlo.axis_ref{axis}]>"
        )
        body = f'%r = "stablehlo.all_gather"(%a) {{all_gather_dim = 0 : i64, {named}}}'
        results = run(body, f"tensor<1xi32> -> tensor<{size}xi32>", inputs)
        assert [list(result) for result in results] == [group(number) for number in range(8)]


def test_numbers_of_the_process_and_loops_of_different_length_elsewhere() -> None:
    text = """
    func.func @main() -> (tensor<ui32>, tensor<ui32>, tensor<ui32>) {
      %r = stablehlo.replica_id : tensor<ui32>
      %p = stablehlo.partition_id : tensor<ui32>
      %zero = stablehlo.constant dense<0> : tensor<ui32>
      %one = stablehlo.constant dense<1> : tensor<ui32>
      %three = stablehlo.constant dense<3> : tensor<ui32>
      %0:2 = stablehlo.while(%i = %zero, %s = %p) : tensor<ui32>, tensor<ui32>
      cond {
        %c = stablehlo.compare LT, %i, %three : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %n = stablehlo.add %i, %one : tensor<ui32>
        %t = "stablehlo.all_reduce"(%s) ({
        ^bb0(%x: tensor<ui32>, %y: tensor<ui32>):
          %u = stablehlo.add %x, %y : tensor<ui32>
          stablehlo.return %u : tensor<ui32>
        }) {replica_groups = dense<> : tensor<0x0xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<ui32>) -> tensor<ui32>
        stablehlo.return %n, %t : tensor<ui32>, tensor<ui32>
      }
      return %r, %p, %0#1 : tensor<ui32>, tensor<ui32>, tensor<ui32>
    }"""
    results = evaluate_replicas(parse_module(text, "test", make_context()), [()] * 4, num_partitions=2)
    assert [tuple(int(value) for value in process) for process in results] == [
        (0, 0, 32),
        (0, 1, 32),
        (1, 0, 32),
        (1, 1, 32),
    ]


DIVERGES = """
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %r = stablehlo.replica_id : tensor<ui32>
  %one = stablehlo.constant dense<1> : tensor<ui32>
  %c = stablehlo.compare LT, %r, %one : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %0 = "stablehlo.if"(%c) ({
    %1 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    stablehlo.return %1 : tensor<2xi32>
  }, {
    OTHER
    stablehlo.return %2 : tensor<2xi32>
  }) : (tensor<i1>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
"""


@pytest.mark.parametrize(
    ("other", "note"),
    [
        (
            '%2 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} '
            ": (tensor<2xi32>) -> tensor<2xi32>",
            "process (replica 1, partition 0) waits here in 'hlo.collective_permute' for process (replica 0, partition 0)",
        ),
        (
            "%2 = stablehlo.negate %a : tensor<2xi32>",
            "waits here in 'hlo.collective_broadcast' for process (replica 1, partition 0), which has ended",
        ),
    ],
)
def test_processes_that_wait_for_ever_are_found(other: str, note: str) -> None:
    program = parse_module(DIVERGES.replace("OTHER", other), "test", make_context())
    before = set(threading.enumerate())
    with pytest.raises(DiagnosticError, match="never ends") as caught:
        evaluate_replicas(program, arrays(2, (2,)))
    assert note in "\n".join(one.message for one in caught.value.diagnostics[0].notes)
    assert set(threading.enumerate()) <= before


def test_constraints_that_depend_on_the_grid() -> None:
    inputs = arrays(3, (2,))
    types = "tensor<2xi32> -> tensor<2xi32>"
    body = ADD.replace("OP", "add").replace("E", "i32")
    pair = f"replica_groups = {dense([[0, 1]])}"
    cases = (
        (f'%r = "stablehlo.all_reduce"(%a) {body} {{{pair}}}', types, "all_reduce_c2"),
        (f'%r = "stablehlo.reduce_scatter"(%a) {body} {{scatter_dimension = 0 : i64, {pair}}}',
         "tensor<2xi32> -> tensor<1xi32>", "reduce_scatter_c4"),
        (f'%r = "stablehlo.all_to_all"(%a) {{split_dimension = 0 : i64, concat_dimension = 0 : i64, '
         f"split_count = 2 : i64, {pair}}}", types, "all_to_all_c6"),
        ('%r = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = 0 : i64, '
         "split_count = 2 : i64, replica_groups = dense<> : tensor<0x0xi64>}", types, "all_to_all_c8"),
        (f'%r = "stablehlo.collective_broadcast"(%a) {{replica_groups = {dense([[0, 5]])}}}', types,
         "collective_broadcast_c2"),
        (f'%r = "stablehlo.collective_permute"(%a) {{source_target_pairs = {dense([[0, 5]])}}}', types,
         "collective_permute_c4"),
        ('%r = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>}',
         "tensor<2xi32> -> tensor<4xi32>", "has a result of shape (6) in a group of 3 processes"),
    )  # fmt: skip
    for program, function, message in cases:
        with pytest.raises(DiagnosticError) as caught:
            run(program, function, inputs)
        assert message in str(caught.value)


def test_errors_in_one_process_end_all() -> None:
    body = '%r = "stablehlo.infeed"(%a)'
    before = set(threading.enumerate())
    with pytest.raises(DiagnosticError, match="infeed_i1"):
        run(body, "tensor<2xi32> -> !stablehlo.token", arrays(2, (2,)))
    with pytest.raises(TypeError, match="has shape"):
        run('%r = "stablehlo.negate"(%a)', "tensor<2xi32> -> tensor<2xi32>", arrays(2, (3,)))
    with pytest.raises(ValueError, match="3 processes do not make replicas of 2 partitions"):
        evaluate_replicas(
            module('%r = "stablehlo.negate"(%a)', "tensor<2xi32> -> tensor<2xi32>"), arrays(3, (2,)), num_partitions=2
        )
    assert set(threading.enumerate()) <= before


def test_tokens_are_neither_inputs_nor_results() -> None:
    text = """
    func.func @main(%t: !stablehlo.token, %a: tensor<3xf32>) -> (!stablehlo.token, tensor<3xf32>) {
      %0 = stablehlo.after_all %t : !stablehlo.token
      %1 = stablehlo.create_token : !stablehlo.token
      %2 = stablehlo.after_all %0, %1 : !stablehlo.token
      %3:2 = stablehlo.optimization_barrier %2, %a : !stablehlo.token, tensor<3xf32>
      %4 = stablehlo.negate %3#1 : tensor<3xf32>
      return %3#0, %4 : !stablehlo.token, tensor<3xf32>
    }"""
    x = np.arange(3, dtype=np.float32)
    (result,) = Program(text).results(x)
    np.testing.assert_array_equal(result, -x)
    np.testing.assert_array_equal(xhlo.compile(text)(x), -x)


@pytest.mark.parametrize("op", ["infeed", "outfeed", "send", "recv"])
def test_operations_of_the_host_are_refused_by_name(op: str) -> None:
    channel = {"send": " {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}"}
    channel["recv"] = channel["send"]
    text = (
        "func.func @main(%t: !stablehlo.token) -> !stablehlo.token {\n"
        f'  %0 = "stablehlo.{op}"(%t){channel.get(op, "")} : (!stablehlo.token) -> !stablehlo.token\n'
        "  return %0 : !stablehlo.token\n}"
    )
    with pytest.raises(DiagnosticError, match=f"'hlo.{op}' op is not supported by the reference interpreter: it needs"):
        Program(text).results()
    with pytest.raises(DiagnosticError, match=f"'stablehlo.{op}' op is not supported: it needs a host"):
        xhlo.compile(text)


def test_a_check_counts_results_without_tokens() -> None:
    text = """
    func.func @main(%t: !stablehlo.token, %a: tensor<3xf32>) -> (!stablehlo.token, tensor<3xf32>) {
      stablehlo.custom_call @check.expect_eq(%a, %a) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
      return %t, %a : !stablehlo.token, tensor<3xf32>
    }"""
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(xhlo.compile(text)(x), x)


PARALLEL = """
func.func @recv(%t: !stablehlo.token) -> (tensor<i32>, !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}
    : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  return %r#0, %r#1 : tensor<i32>, !stablehlo.token
}
func.func @feed(%t: !stablehlo.token) -> (tensor<i32>, !stablehlo.token) {
  %r:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  return %r#0, %r#1 : tensor<i32>, !stablehlo.token
}
func.func @float() -> tensor<f32> {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  return %0 : tensor<f32>
}
func.func @main() {
  %t = stablehlo.after_all : !stablehlo.token
  %r:2 = "interpreter.run_parallel"(%t) {PROGRAMS} : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  return
}"""


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        ("programs = [[@recv]]", "1 processes wait for others"),
        ("programs = [[@feed]]", "the infeed holds no more data"),
        ("infeed = [@float], programs = [[@feed]]", r"reads float32\[\] from the infeed, its results are tensor<i32>"),
    ],
)
def test_grids_of_a_test_program_that_cannot_go_on(programs: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        Program(PARALLEL.replace("PROGRAMS", programs)).results()


def test_probes_are_compared_by_run() -> None:
    check = 'check.expect_serialized_eq %y, probe_id = "p", iter = RUN : tensor<i32>'
    text = f"""
    func.func @main(%x: tensor<i32>, %y: tensor<i32>) {{
      %0 = interpreter.probe %x, probe_id = "p" : tensor<i32>
      %1 = interpreter.probe %y, probe_id = "p" : tensor<i32>
      {check}
      return
    }}"""
    inputs = np.array(1, np.int32), np.array(2, np.int32)
    Program(text.replace("RUN", "1")).results(*inputs)
    with pytest.raises(DiagnosticError, match="the probe 'p' kept 1 in run 0, expected 2"):
        Program(text.replace("RUN", "0")).results(*inputs)
    with pytest.raises(DiagnosticError, match="the probe 'p' has run 2 times, number 2 is asked for"):
        Program(text.replace("RUN", "2")).results(*inputs)
