"""The header of a module: counts of devices, donated arguments, aliases, layouts, shardings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute

from ...hlo_dialect.attributes import ENTRY_LAYOUTS, XLA_SHAPE, int_attr, order_attribute
from ...hlo_dialect.collectives.process_groups import MOST_DEVICES
from ...hlo_dialect.donation import ALIAS, DONOR
from ...hlo_dialect.types import i32
from .program import Computation, Instruction, Program
from .shapes import Shape, ShapeError, read_shape, shape_at, shape_text
from .values import UnexpectedValueError, read_aliases, read_bool, read_dictionary, read_donors, read_int

T = TypeVar("T")
_KNOWN = frozenset((
    "is_scheduled", "replica_count", "num_partitions", "input_output_alias", "buffer_donor", "alias_passthrough_params",
    "entry_computation_layout", "frontend_attributes", "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output", "origin_recovery_table",
))  # fmt: skip


def _value(program: Program, name: str, read: Callable[[str], T], default: T) -> T:
    text = program.attributes.get(name)
    if text is None:
        return default
    try:
        return read(text)
    except UnexpectedValueError as error:
        raise program.text.error(f"{name} is '{text[:60]}', expected {error}", _place(program, name)) from None


def _place(program: Program, name: str) -> int:
    return max(program.text.content.find(f"{name}=", program.offset), program.offset)


def _positive(text: str) -> int:
    number = read_int(text)
    if not 1 <= number <= MOST_DEVICES:
        raise UnexpectedValueError(f"a number from 1 to {MOST_DEVICES}")
    return number


def device_counts(program: Program) -> tuple[int, int]:
    """The numbers of replicas and of partitions."""
    return _value(program, "replica_count", _positive, 1), _value(program, "num_partitions", _positive, 1)


def module_attributes(program: Program) -> dict[str, Attribute]:
    """The attributes of the module. Raises DiagnosticError for unknown ones."""
    for name in program.attributes:
        if name not in _KNOWN:
            raise program.text.error(f"a module has no attribute {name}", _place(program, name))
    replicas, partitions = device_counts(program)
    found: dict[str, Attribute] = {}
    if replicas != 1 or partitions != 1:
        found |= {"mhlo.num_replicas": int_attr(replicas, i32), "mhlo.num_partitions": int_attr(partitions, i32)}
    _value(program, "is_scheduled", read_bool, False)
    frontend = _value(program, "frontend_attributes", read_dictionary, {})
    if frontend:
        found["mhlo.frontend_attributes"] = DictionaryAttr({key: StringAttr(each) for key, each in frontend.items()})
    return found | _entry_layouts(program)


def _entry_shapes(program: Program) -> tuple[list[Shape], Shape] | None:
    """The shapes of the entry's parameters and result, with the layouts that they have at a call, where stated."""

    def read(text: str) -> tuple[list[Shape], Shape]:
        try:
            parameters, end = shape_at(text, 1)
            arrow = text.index("->", end)
            return list(parameters.parts), read_shape(text[arrow + 2 : -1])
        except (ShapeError, ValueError):
            raise UnexpectedValueError("{(shapes of parameters)->shape of the result}") from None

    stated = _value(program, "entry_computation_layout", read, None)
    if stated is not None:
        _check_entry(program, *stated)
        return stated
    entry = program.entry
    assert entry is not None and entry.root is not None
    if entry.root.shape is None:
        return None
    # As XLA's parser has it: without the attribute, the shapes of the instructions.
    return list(entry.shapes), entry.root.shape


def _entry_layouts(program: Program) -> dict[str, Attribute]:
    """The layouts of the entry's arguments and results, if one is not row-major; programs compute on row-major ones."""
    shapes = _entry_shapes(program)
    if shapes is None:
        return {}
    arrays = [leaf for shape in shapes[0] for leaf in shape.leaves()], list(shapes[1].leaves())
    if all(leaf.layout is None for leaves in arrays for leaf in leaves):
        return {}
    return {
        name: ArrayAttr([order_attribute(leaf.order) for leaf in leaves])
        for name, leaves in zip(ENTRY_LAYOUTS, arrays, strict=True)
    }


def _tiled(shapes: Iterable[Shape], entries: list[dict[str, Attribute]]) -> None:
    """State the shapes of arrays whose layouts have more than an order of dimensions."""
    arrays = (leaf for shape in shapes for leaf in shape.leaves())
    for array, each in zip(arrays, entries, strict=True):
        if ":" in array.stated:
            each[XLA_SHAPE] = StringAttr(shape_text(array))


def _check_entry(program: Program, parameters: list[Shape], result: Shape) -> None:
    entry = program.entry
    assert entry is not None and entry.root is not None
    fits = Shape(None, parts=tuple(parameters)).matches(Shape(None, parts=tuple(entry.shapes)))
    if not fits or not (entry.root.shape is None or result.matches(entry.root.shape)):
        place = _place(program, "entry_computation_layout")
        raise program.text.error("entry_computation_layout has other shapes than the entry", place)


# The entry's arguments and results --------------------------------------------------------------------------------


def entry_attributes(
    program: Program, entry: Computation
) -> tuple[ArrayAttr[DictionaryAttr] | None, ArrayAttr[DictionaryAttr] | None]:
    """The attributes of the entry's arguments and results; None where there are none."""
    parameters = [entry.parameters[number] for number in range(len(entry.parameters))]
    found: list[list[dict[str, Attribute]]] = [[{} for _ in _leaves(each)] for each in parameters]
    for parameter, entries in zip(parameters, found, strict=True):
        _describe(program, parameter, entries)
    for output, number, index, kind in _value(program, "input_output_alias", read_aliases, []):
        target = _entry(program, found, parameters, number, index, "input_output_alias")
        assert entry.root is not None
        target[ALIAS] = int_attr(_leaf(program, entry.root.shape, output, "input_output_alias"), i32)
        if kind not in ("", "may-alias", "must-alias"):
            place = _place(program, "input_output_alias")
            raise program.text.error(f"'{kind}' is no kind of alias, expected may-alias or must-alias", place)
    for number, index in _value(program, "buffer_donor", read_donors, []):
        _entry(program, found, parameters, number, index, "buffer_donor")[DONOR] = UnitAttr()
    assert entry.root is not None
    results: list[dict[str, Attribute]] = [{} for _ in _leaves(entry.root)]
    if entry.root.opcode == "tuple":
        _describe(program, entry.root, results)
    arguments = [each for entries in found for each in entries]
    shapes = _entry_shapes(program)
    if shapes is not None:
        _tiled(shapes[0], arguments)
        if results:
            _tiled([shapes[1]], results)
    return _dictionaries(arguments), _dictionaries(results)


def _leaves(one: Instruction) -> list[Attribute]:
    return [] if one.shape is None else one.shape.types()


def _describe(program: Program, one: Instruction, entries: list[dict[str, Attribute]]) -> None:
    """The sharding of a parameter or of the root's tuple, and a parameter's frontend attributes."""
    sharding = one.attributes.get("sharding")
    if sharding is not None:
        texts = _shardings(sharding, len(entries))
        if texts is None:
            raise program.text.error(f"'{one.opcode}': the sharding is not of {len(entries)} arrays", one.offset)
        for each, text in zip(entries, texts, strict=True):
            each["mhlo.sharding"] = StringAttr(text)


def _shardings(text: str, count: int) -> list[str] | None:
    """The sharding of each array: `{..}` of one or of all, `{{..}, {..}}` of a tuple's."""
    inner = text[1:-1].strip()
    if not inner.startswith("{"):
        return [text] * count
    parts: list[str] = []
    depth, start = 0, 0
    for at, character in enumerate(inner):
        if character == "{":
            start = at if depth == 0 else start
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                parts.append(inner[start : at + 1])
    return parts if len(parts) == count else None


def _entry(
    program: Program,
    found: list[list[dict[str, Attribute]]],
    parameters: list[Instruction],
    number: int,
    index: tuple[int, ...],
    name: str,
) -> dict[str, Attribute]:
    if number >= len(parameters):
        raise program.text.error(f"there is no parameter {number}", _place(program, name))
    return found[number][_leaf(program, parameters[number].shape, index, name)]


def _leaf(program: Program, shape: Shape | None, index: tuple[int, ...], name: str) -> int:
    """The number of the array that an index into nested tuples leads to."""
    number = 0
    for part in index:
        if shape is None or not 0 <= part < len(shape.parts):
            raise program.text.error(f"there is nothing at the index {list(index)}", _place(program, name))
        number += sum(len(each.types()) for each in shape.parts[:part])
        shape = shape.parts[part]
    if shape is None or shape.is_tuple:
        raise program.text.error(f"the index {list(index)} leads to a tuple", _place(program, name))
    return number


def _dictionaries(entries: list[dict[str, Attribute]]) -> ArrayAttr[DictionaryAttr] | None:
    return ArrayAttr(list(map(DictionaryAttr, entries))) if any(entries) else None
