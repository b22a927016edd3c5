"""The interface of a library for JavaScript: a module of WebAssembly on typed arrays, in browsers and in Node."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .header import ARENA_ALIGNMENT, messages
from .interface import Entry, Interface, Port
from .templates import filled

_ARRAYS = {
    "float": "Float32Array",
    "double": "Float64Array",
    "complex64": "Float32Array",
    "complex128": "Float64Array",
    "int64_t": "BigInt64Array",
    "uint64_t": "BigUint64Array",
    **{
        f"{sign}int{bits}_t": f"{word}{bits}Array"
        for sign, word in (("", "Int"), ("u", "Uint"))
        for bits in (8, 16, 32)
    },
}


_GROW = (
    "memory.grow(Math.ceil(missing / 65536));",
    "try { memory.grow(BigInt(Math.ceil(missing / 65536))); } catch { memory.grow(Math.ceil(missing / 65536)); }",
)
"""Room in a memory of 32 and of 64 bits; the first engines with the latter took a Number."""


_LOAD = """\
// The C library's functions that compiled code may call.
const single = (f) => (...x) => Math.fround(f(...x));
const functions = {};
for (const f of ["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "exp", "expm1", "log", "log1p", "log2", "log10", "cbrt", "pow"]) {
    functions[f] = Math[f];
    functions[f + "f"] = single(Math[f]);
}
functions.fmod = (x, y) => x % y;
functions.fmodf = single(functions.fmod);

export async function load(source) {
    const code = source instanceof Response ? await source.arrayBuffer() : source;
    const module = await WebAssembly.compile(code);
    let memory;
    const bytes = (start, length) => new Uint8Array(memory.buffer, Number(start), Number(length));
    const env = {
        ...functions,
        memcpy(to, from, n) { bytes(to, n).set(bytes(from, n)); return to; },
        memmove(to, from, n) { bytes(to, n).set(bytes(from, n)); return to; },
        memset(to, byte, n) { bytes(to, n).fill(byte); return to; },
    };
    const { exports } = await WebAssembly.instantiate(module, { env });
    memory = exports.memory;
    let end = Number(exports.__heap_base.value);
    const room = (size) => {
        const start = Math.ceil(end / alignment) * alignment;
        end = start + Math.max(size, 1);
        const missing = end - memory.buffer.byteLength;
        if (missing > 0) GROW_MEMORY
        return start;
    };
    const program = (name, ports, arenaBytes) => {
        const place = (port) => ({ ...port, start: room(port.length * port.type.BYTES_PER_ELEMENT) });
        const words = WORD_ARRAY;
        const inputs = ports.inputs.map(place);
        const results = ports.results.map(place);
        const structures = [inputs, results].map((each) => {
            const start = room(each.length * words.BYTES_PER_ELEMENT);
            new words(memory.buffer, start, each.length).set(each.map((port) => address(port.start)));
            return address(start);
        });
        const arena = address(room(arenaBytes));
        return (...arrays) => {
            if (arrays.length !== inputs.length)
                throw new TypeError(`${name} takes ${inputs.length} arrays`);
            inputs.forEach((port, number) => {
                const array = arrays[number];
                if (!(array instanceof port.type) || array.length !== port.length)
                    throw new TypeError(`${port.name} is no ${port.type.name} of ${port.length} elements`);
                new port.type(memory.buffer, port.start, port.length).set(array);
            });
            const code = exports[name](...structures, arena);
            if (code !== 0) throw new Error(messages[code]);
            return results.map((port) => new port.type(memory.buffer, port.start, port.length).slice());
        };
    };
    return {
"""


def javascript_module(interface: Interface, made_for: str) -> str:
    """`model.mjs`: `load(source)` gives an object with a method for each entry."""
    name, wide = interface.name, made_for.startswith("wasm64")
    lines = [
        f"// The program {name}, compiled by xhlo for {made_for}.",
        "//",
        f"//     const {name} = await load(bytes);                  // of {name}.wasm, or a Response",
        *_example(interface),
        "//",
        "// Arrays are row-major typed arrays, complex numbers pairs; results are new arrays.",
        "",
        *(f"const {interface.short(entry)}Ports = {_ports(entry)};" for entry in interface.entries),
        f"const messages = {json.dumps(messages(interface))};",
        f"const alignment = {ARENA_ALIGNMENT};",
        f"const address = {'BigInt' if wide else 'Number'};",
        "",
        *filled(_LOAD, GROW_MEMORY=_GROW[wide], WORD_ARRAY="BigUint64Array" if wide else "Uint32Array").splitlines(),
        *(_method(interface, entry) for entry in interface.entries),
        *_weights(interface),
        "    };",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _example(interface: Interface) -> list[str]:
    entry = interface.entries[0]
    names = ", ".join(port.name for port in entry.arguments)
    results = ", ".join(port.name for port in entry.results)
    set_weights = [f"//     {interface.name}.setWeights(bytes);"] if interface.weights is not None else []
    return [*set_weights, f"//     const [{results}] = {interface.name}.{interface.short(entry)}({names});"]


def _method(interface: Interface, entry: Entry) -> str:
    name = interface.short(entry)
    return f'        {name}: program("{entry.prefix}_run", {name}Ports, {entry.arena_bytes}),'


def _ports(entry: Entry) -> str:
    return f"{{ inputs: [{_described(entry.arguments)}], results: [{_described(entry.results)}] }}"


def _described(ports: Sequence[Port]) -> str:
    return ", ".join(
        f'{{ name: "{port.name}", type: {_ARRAYS[port.element]}, '
        f"length: {port.count * (2 if port.element.startswith('complex') else 1)} }} /* {port.type} */"
        for port in ports
    )


def _weights(interface: Interface) -> list[str]:
    if interface.weights is None:
        return []
    return [
        "        setWeights(content) {",
        "            const start = room(content.length);",
        "            bytes(start, content.length).set(content);",
        f"            const code = exports.{interface.name}_set_weights(address(start), BigInt(content.length));",
        "            if (code !== 0) throw new Error(messages[code]);",
        "        },",
    ]
