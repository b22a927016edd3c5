"""
The plugin's own objects, which the handles of the PJRT C API point to.

JAX queries several of them on every call of a jitted function, so machine code (`native.py`) creates and reads them
without Python. All fields, pointers too, are 64-bit numbers.
"""

from __future__ import annotations

from typing import Any

from .c_api import structures

_OBJECTS = """
Spec: element_type num_dims dims strides minor_to_major nbytes permuted layout layout_size
Storage: references data capacity release release_argument event
Buffer: spec storage origin data device lock ready
Event: ready callbacks lock references error
Callback: function argument next
Device: description memory ordinal
Memory: function_table user_data lock device ordinal kind kind_size
Executable: number num_replicas num_partitions num_outputs
UserData: key value destructor next
Error: function_table code message size
LoadedExecutable: direct entry num_inputs num_outputs input_specs output_specs donated has_donations updated
  arena_bytes device number nanoseconds pending
Task: next program event missing error copies bytes threads mode host caller
Queue: first last queued idle workers most
"""
"""
Spec: an element type and a shape, one object for all equal ones, never freed. `strides` in bytes;
      `permuted` unless the array is row-major; `layout`, the text of `minor_to_major`.
Storage: memory, the number of its users (see `native.WRITER`), and how it is released: to the pool (`capacity`), by
         `release(data, release_argument)`, or by setting `event`, upon which the owner takes it back.
Buffer: `storage` is null after deletion; `origin` still holds it, for external references. `lock` guards `storage`.
        `ready`: the event of the run that writes it; null where none does.
Event: set when a run has ended, or when the memory of a host array is no longer used; `callbacks` wait for that, those
       without a function are tasks. `error`: why the run has no results.
Callback: called with an error, or null, and the argument.
Executable: the facts of a program that JAX asks for at every call.
LoadedExecutable: `direct` when machine code takes its calls, and who runs it (`native_execution.py`); `donated`, a byte
                  for each input; `updated`, for each output the number of the donated input in whose memory it is, -1
                  without one; `number` names the Python object. `nanoseconds`: the time that the next run is
                  expected to take; `pending`: its tasks.
Task: a run that was begun before its inputs were there, or that takes long; it waits for `missing` inputs. Its arrays
      follow it: the addresses of inputs, outputs and the arena; the storages of inputs and outputs; and `copies`
      triples (target, source, bytes), to be made before the run. `threads`, `mode` and the thread `caller` are those of
      the call; `host`: whether Python runs it.
Queue: tasks that wait for nothing but a worker, and the workers, some of which wait for tasks.
"""


OBJECTS: dict[str, Any] = dict(structures(_OBJECTS))
"""The ctypes structure of each kind of object, by its name."""
