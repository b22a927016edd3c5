"""The host program of gpu-level IR: buffers, control flow, launches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp

from ...dialects.cpu import GuardOp, HostCallOp
from ...dialects.gpu.functions import GpuFuncOp, GpuLaunchFuncOp, GpuModuleOp
from ...dialects.support.buffers import row_major
from ...dialects.support.guard_zones import POISON
from ...hlo_dialect.custom_calls.call import call_of
from ...hlo_dialect.custom_calls.registry import REGISTRY, run_target
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.types import Array, ArrayType
from .evaluator import Evaluator, Maker, Step, call
from .kernel import Kernel
from .lanes import Dims, Frame, Lanes
from .library import MAKERS as LIBRARY_MAKERS
from .memory import Memory, View, scalar
from .memref_ops import MAKERS, layout_of, symbols_of
from .traffic import KernelTraffic


class HostProgram:
    """
    A module at the level after plan-buffers, ready to run its @main. Constants stay in memory; each run allocates the
    rest.
    """

    def __init__(self, module: ModuleOp, entry: str = "main"):
        symbols = symbols_of(module.body.block.ops)
        self.kernels: dict[tuple[str, str], Kernel] = {}
        self.profile: dict[str, tuple[int, int]] = {}
        """Per kernel of the host level: its calls and the nanoseconds that they took."""
        for op in module.body.block.ops:
            if isinstance(op, GpuModuleOp):
                self._add_kernels(op)
        self.entry = symbols.functions[entry]
        self._evaluator = Evaluator({**MAKERS, **self._makers()}, symbols)

    def _add_kernels(self, module: GpuModuleOp) -> None:
        symbols = symbols_of(module.body.block.ops)
        for op in module.body.block.ops:
            if isinstance(op, GpuFuncOp) and op.kernel is not None:
                self.kernels[module.sym_name.data, op.sym_name.data] = Kernel(op, symbols)

    def count_traffic(self) -> list[KernelTraffic]:
        """Count the memory traffic of each device function from now on."""
        for (_, name), kernel in self.kernels.items():
            kernel.traffic = KernelTraffic(name, warp=kernel.warp)
        return [kernel.traffic for kernel in self.kernels.values() if kernel.traffic is not None]

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """
        Run @main on contiguous arrays; `inputs` are only read, `outputs` are written.

        Raises SimtError for behaviour that is undefined on a GPU.
        """
        types = self.entry.function_type.inputs.data
        given = [*((array, True) for array in inputs), *((array, False) for array in outputs)]
        arguments: list[View] = []
        for place, type_ in enumerate(types):
            shape, strides, dtype = layout_of(self.entry, type_)
            if place < len(given):
                array, constant = given[place]
                memory = Memory.of(array, constant=constant)
            else:
                memory = Memory.fresh(int(np.prod(shape)) * dtype.itemsize)  # The arena.
            arguments.append(View(memory, dtype, 0, shape, strides))
        frame = Frame(Lanes("the host program", (1, 1, 1), (1, 1, 1), 0, 1))
        with np.errstate(all="ignore"):
            self._evaluator.code(self.entry.body.block).run(frame, arguments)

    def _makers(self) -> dict[str, Maker]:
        return {
            "memref.alloc": _alloc,
            "memref.dealloc": _nothing,
            "memref.copy": _copy,
            "gpu.launch_func": self._launch,
            "cpu.host_call": _host_call,
            "cpu.guard": _guard,
            **LIBRARY_MAKERS,
            "func.call": self._call,
        }

    def _call(self, evaluator: Evaluator, op: func.CallOp) -> Step:
        name, plain = op.callee.string_value(), call(evaluator, op)

        def step(frame: Frame) -> None:
            start = time.perf_counter_ns()
            plain(frame)
            calls, nanoseconds = self.profile.get(name, (0, 0))
            self.profile[name] = calls + 1, nanoseconds + time.perf_counter_ns() - start

        return step

    def _launch(self, evaluator: Evaluator, op: GpuLaunchFuncOp) -> Step:
        name = op.kernel.root_reference.data, op.kernel.nested_references.data[0].data
        kernel = self.kernels.get(name)
        if kernel is None:
            fail(op, f"launches @{'::@'.join(name)}, which is not there")

        def step(frame: Frame) -> None:
            grid, block = ([scalar(frame.env[value]) for value in values] for values in (op.grid, op.threads))
            kernel.launch(op, _dims(grid), _dims(block), [frame.env[value] for value in op.arguments])

        return step


def _dims(values: Sequence[int]) -> Dims:
    x, y, z = values
    return x, y, z


def _alloc(evaluator: Evaluator, op: memref.AllocOp) -> Step:
    shape, strides, dtype = layout_of(op, op.memref.type)

    def step(frame: Frame) -> None:
        memory = Memory.fresh(int(np.prod(shape)) * dtype.itemsize)
        frame.env[op.memref] = View(memory, dtype, 0, shape, strides)

    return step


def _nothing(evaluator: Evaluator, op: Any) -> Step:
    return lambda frame: None


def _copy(evaluator: Evaluator, op: memref.CopyOp) -> Step:
    def step(frame: Frame) -> None:
        source, target = frame.env[op.source], frame.env[op.destination]
        if target.memory.constant:
            frame.fail(op, "writes to memory that is only read: an argument or a constant", frame.active())
        target.array()[...] = source.array()

    return step


def _host_call(evaluator: Evaluator, op: HostCallOp) -> Step:
    stated = call_of(op.target.data, op.call.data, op.operands_as.data, op.results_as.data, op.location)
    count = len(stated.operands)

    def step(frame: Frame) -> None:
        target = REGISTRY.find(stated.target)
        if target is None:
            fail(op, f"calls the target '{stated.target}', which is not registered")
        views = [frame.env[value] for value in op.operands]
        types = (*stated.operands, *stated.results)
        arrays = [_as_type(view, type_) for view, type_ in zip(views, types, strict=True)]
        results = run_target(target, stated, [array.copy() for array in arrays[:count]])
        for array, value in zip(arrays[count:], results, strict=True):
            array[...] = value

    return step


def _guard(evaluator: Evaluator, op: GuardOp) -> Step:
    def step(frame: Frame) -> None:
        """Poison a buffer of the arena where its life begins and ends."""
        frame.env[op.buffers[0]].memory.data[op.place] = POISON

    return step


def _as_type(view: View, type_: ArrayType) -> Array:
    """The memory of a view, as the array that a host function sees."""
    if view.strides != row_major(view.shape):
        raise AssertionError("a call of the host program takes buffers of identity layout")
    return view.array().reshape(-1).view(type_.dtype).reshape(type_.shape)
