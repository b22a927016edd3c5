# The public names for type checkers and editors; __init__.py imports each on first use.

from . import numpy as numpy
from . import tensorflow as tensorflow
from .frontends.builder.builder import Builder as Builder
from .frontends.clusters.context import asarray as asarray
from .frontends.clusters.context import autocluster as autocluster
from .frontends.clusters.report import explain_clusters as explain_clusters
from .frontends.jax.inspection import executable_of as executable_of
from .frontends.numpy.batched import vmap as vmap
from .frontends.numpy.control_flow import cond as cond
from .frontends.numpy.control_flow import fori_loop as fori_loop
from .frontends.numpy.control_flow import map_ as map
from .frontends.numpy.control_flow import scan as scan
from .frontends.numpy.control_flow import switch as switch
from .frontends.numpy.control_flow import while_loop as while_loop
from .frontends.numpy.errors import TraceError as TraceError
from .frontends.numpy.jit import jit as jit
from .frontends.torch.entry import from_torch as from_torch
from .hlo_dialect.custom_calls.call import CustomCall as CustomCall
from .hlo_dialect.custom_calls.registry import CustomCallError as CustomCallError
from .hlo_dialect.custom_calls.registry import custom_call as custom_call
from .hlo_dialect.custom_calls.registry import register_custom_call as register_custom_call
from .hlo_dialect.diagnostics.diagnostic import DiagnosticError as DiagnosticError
from .hlo_dialect.ops.check_calls import CheckFailure as CheckFailure
from .hlo_dialect.plugins import PluginWarning as PluginWarning
from .targets.ahead.library import Library as Library
from .targets.ahead.library import compile_ahead as compile_ahead
from .targets.amdgcn.runtime.errors import HipError as HipError
from .targets.compile import compile as compile
from .targets.compile import deserialize as deserialize
from .targets.gpu.runtime.arrays import DeviceArray as DeviceArray
from .targets.gpu.runtime.driver import GpuUnavailableError as GpuUnavailableError
from .targets.nvptx.runtime.errors import CudaError as CudaError
from .targets.program.executable import Executable as Executable
from .targets.program.signing import sign_executable as sign_executable

__version__: str

__all__ = [
    "Builder",
    "CheckFailure",
    "CudaError",
    "CustomCall",
    "CustomCallError",
    "DeviceArray",
    "DiagnosticError",
    "Executable",
    "GpuUnavailableError",
    "HipError",
    "Library",
    "PluginWarning",
    "TraceError",
    "__version__",
    "asarray",
    "autocluster",
    "compile",
    "compile_ahead",
    "cond",
    "custom_call",
    "deserialize",
    "executable_of",
    "explain_clusters",
    "fori_loop",
    "from_torch",
    "jit",
    "map",
    "numpy",
    "register_custom_call",
    "scan",
    "sign_executable",
    "switch",
    "tensorflow",
    "vmap",
    "while_loop",
]
