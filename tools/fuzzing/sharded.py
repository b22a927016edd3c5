"""Programs with random shardings: the partitioned program computes the same as the whole one."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.attributes import int_array, int_attr
from ...hlo_dialect.collectives.process_groups import AxisRefAttr, mesh_axis
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.printing import print_module
from ...hlo_dialect.reading import parse_module
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.sharding.attributes import DimensionShardingAttr, ShardingAttr, ShardingMeshAttr
from ...hlo_dialect.sharding.operations import MeshOp, ShardingConstraintOp
from ...hlo_dialect.types import Array, i32, shape_of, tensor_type
from ...targets.cpu.replicated import compile_replicated

MESHES = ({"x": 2}, {"x": 2, "y": 2}, {"x": 2, "y": 3}, {"x": 4, "y": 2}, {"x": 2, "y": 2, "z": 2})


def sharded(text: str, choices: random.Random) -> tuple[str, int]:
    """The program with shardings of arguments, results and some other values, for a number of devices."""
    module = parse_module(text, "random.mlir", make_context())
    sizes = choices.choice(MESHES)
    devices = int(np.prod(list(sizes.values())))
    numbers = choices.sample(range(devices), devices) if choices.random() < 0.5 else ()
    mesh = ShardingMeshAttr(ArrayAttr([mesh_axis(*axis) for axis in sizes.items()]), int_array(numbers))
    block = module.body.block
    (main,) = (op for op in block.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")
    assert block.first_op is not None
    block.insert_op_before(MeshOp.create(properties={"sym_name": StringAttr("mesh"), "mesh": mesh}), block.first_op)
    types = main.function_type
    for name, each in (("arg_attrs", types.inputs.data), ("res_attrs", types.outputs.data)):
        shapes = [shape_of(cast(Attribute, type_)) if isinstance(type_, TensorType) else None for type_ in each]
        shardings = [None if shape is None else _sharding(shape, sizes, choices) for shape in shapes]
        main.properties[name] = ArrayAttr(
            [DictionaryAttr({} if one is None else {"sdy.sharding": one}) for one in shardings]
        )
    for op in [op for op in main.body.walk() if op.results and choices.random() < 0.15]:
        _constrain(op, sizes, choices)
    module.attributes["mhlo.num_partitions"] = int_attr(devices, i32)
    return print_module(module), devices


def _sharding(shape: Sequence[int], sizes: dict[str, int], choices: random.Random) -> ShardingAttr | None:
    """A random sharding: each axis splits a dimension, or none; some parts are uneven."""
    if choices.random() < 0.2:
        return None
    axes: list[list[AxisRefAttr]] = [[] for _ in shape]
    left = list(shape)
    for name in choices.sample(sorted(sizes), len(sizes)):
        fitting = [dim for dim, size in enumerate(left) if size and (size % sizes[name] == 0 or choices.random() < 0.1)]
        if fitting and choices.random() < 0.8:
            dim = choices.choice(fitting)
            axes[dim].append(AxisRefAttr(StringAttr(name), ArrayAttr([])))
            left[dim] = -(-left[dim] // sizes[name])
    dimensions = ArrayAttr([DimensionShardingAttr.of(each) for each in axes])
    return ShardingAttr(SymbolRefAttr("mesh"), dimensions, ArrayAttr([]), ArrayAttr([]))


def _constrain(op: Operation, sizes: dict[str, int], choices: random.Random) -> None:
    """Replace the uses of one result of the operation, at random, by a sharding constraint of it."""
    value = choices.choice(list(op.results))
    if not isinstance(value.type, TensorType) or not is_static(shape_of(value)):
        return
    sharding = _sharding(shape_of(value), sizes, choices)
    around = op.parent
    if sharding is None or around is None:
        return
    users, type_ = list(value.uses), tensor_type(value)
    constraint = ShardingConstraintOp.create(
        operands=[value], result_types=[type_], properties={"sharding": sharding}, location=op.location
    )
    around.insert_op_after(constraint, op)
    for use in users:
        use.operation.operands[use.index] = constraint.results[0]


def sharded_results(text: str, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The results of the CPU's devices for `inputs`, split by shardings that depend on the text alone."""
    program, devices = sharded(text, random.Random(zlib.crc32(text.encode())))
    compiled = compile_replicated(program, 1, devices)
    parts = [tiling.split(array) for tiling, array in zip(compiled.shardings.parameters, inputs, strict=True)]
    results = compiled([[part[number] for part in parts] for number in range(devices)])
    shapes = [shape_of(type_) for type_ in _result_types(program)]
    return tuple(
        tiling.joined([each[index] for each in results], shape)
        for index, (tiling, shape) in enumerate(zip(compiled.shardings.outputs, shapes, strict=True))
    )


def _result_types(text: str) -> Sequence[Attribute]:
    module = parse_module(text, "random.mlir", make_context())
    (main,) = (op for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")
    return main.function_type.outputs.data
