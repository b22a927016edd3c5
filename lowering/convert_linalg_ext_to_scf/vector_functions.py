"""Functions of vectors next to a kernel, which programs share, and their calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import func
from xdsl.ir import Attribute, SSAValue

from ...dialects.support.scalar import width_of
from ..convert_contractions_to_vector.shared_function import SharedFunctions
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import LoopBuilder
from .fourier_passes import Vectors


class VectorFunctions:
    """Calls functions from a kernel, and defines each when it is first called."""

    def __init__(
        self, builder: LoopBuilder, kernel: func.FuncOp, element: Attribute, lanes: int, in_parts: bool = False
    ):
        """`in_parts`: whether functions treat groups of so many lanes in parts, vectors of the machine."""
        self.builder = builder
        self.element = element
        self.lanes = lanes
        self.width = max(2, min(lanes, builder.vector_bits // width_of(element))) if in_parts else lanes
        """The lanes of the functions' vectors."""
        self.functions = SharedFunctions(builder, kernel)

    def call(self, name: str, arguments: Sequence[Index | SSAValue], emit: Callable[..., None]) -> None:
        """
        Call a shared function; `emit` gets its vectors and its parameters, numbers as indices.

        The name states what `emit` captures: functions of one name and one `emit` are the same in every program.
        """

        def inside(builder: LoopBuilder, parameters: Sequence[SSAValue]) -> None:
            given = [
                parameter if isinstance(argument, SSAValue) else builder.index(parameter)
                for argument, parameter in zip(arguments, parameters, strict=True)
            ]
            emit(Vectors(builder, self.element, self.width, self.lanes), *given)

        suffix = f"{name}_{self.element}"
        kinds = "".join("v" if isinstance(argument, SSAValue) else "i" for argument in arguments)
        stated = (emit.__module__, emit.__qualname__, suffix, f"{self.lanes} {self.width}", kinds)
        self.functions.call(suffix, arguments, stated, inside)
