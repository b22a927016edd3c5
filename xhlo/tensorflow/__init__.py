"""
Functions of TensorFlow code and Keras models, compiled by xhlo.

>>> import xhlo
>>> xhlo.tensorflow.jit
<function jit at ...>
"""

from ..frontends.tensorflow.jit import CompiledFunction as CompiledFunction
from ..frontends.tensorflow.jit import jit as jit

__all__ = ["CompiledFunction", "jit"]
