"""
The plugin's own objects, which the handles of the PJRT C API point to.

JAX queries several of them on every call of a jitted function, so machine code (`native.py`) creates and reads them
without Python. All fields, pointers too, are 64-bit numbers.
"""

from __future__ import annotations

import ctypes
from typing import Any

_OBJECTS = """
Spec: element_type num_dims dims strides minor_to_major nbytes permuted
Storage: references data capacity release release_argument event
Buffer: spec storage origin data device lock
Event: ready callbacks lock references
Callback: function argument next
Device: description memory ordinal
Memory: function_table user_data lock device ordinal kind kind_size
Executable: number num_replicas num_partitions num_outputs
UserData: key value destructor next
Error: function_table code message size
LoadedExecutable: direct entry num_inputs num_outputs input_specs output_specs donated has_donations updated
  arena_bytes device number
"""
"""
Spec: an element type and a shape, one object for all equal ones, never freed. `strides` in bytes;
      `permuted` unless the array is row-major.
Storage: memory and how it is released: to the pool (`capacity`), by `release(data, release_argument)`, or by setting
         `event`, upon which the owner takes it back.
Buffer: `storage` is null after deletion; `origin` still holds it, for external references. `lock` guards `storage`.
Event: set when the memory of a host array is no longer used; `callbacks` wait for that.
Executable: the facts of a program that JAX asks for at every call.
LoadedExecutable: `direct` when machine code runs it without Python; `donated`, a byte for each input; `updated`, for
                  each output the number of the donated input in whose memory it is, -1 without one; `number` names the
                  Python object.
"""


def _structures() -> dict[str, type[ctypes.Structure]]:
    made: dict[str, type[ctypes.Structure]] = {}
    for line in _OBJECTS.strip().replace("\n  ", " ").splitlines():
        name, _, fields = line.partition(":")
        made[name] = type(name, (ctypes.Structure,), {"_fields_": [(f, ctypes.c_int64) for f in fields.split()]})
    return made


OBJECTS: dict[str, Any] = dict(_structures())
"""The ctypes structure of each kind of object, by its name."""
