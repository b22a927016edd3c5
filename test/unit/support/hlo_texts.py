"""Programs in XLA's HLO text that between them use every opcode that is read, each in the forms that XLA prints."""

from __future__ import annotations

_COMPUTATIONS = """
add_f32 { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }
max_f32 { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] maximum(x, y) }
ge_f32 { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = pred[] compare(x, y), direction=GE }
lt_f32 { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = pred[] compare(x, y), direction=LT }
second_f32 { x = f32[] parameter(0)  ROOT y = f32[] parameter(1) }
"""


def program(entry: str, *, header: str = "", before: str = "") -> str:
    """A module of an entry computation with these instructions; the shared computations are before it."""
    used = [line for line in _COMPUTATIONS.strip().splitlines() if line.split()[0] in entry]
    parts = [f"HloModule test{header}", *used, before.strip(), f"ENTRY main {{\n{entry.strip()}\n}}"]
    return "\n\n".join(part for part in parts if part) + "\n"


def _elementwise(opcodes: str, type_: str, operands: int) -> str:
    """Each opcode of arrays of one type."""
    names = opcodes.split()
    lines = [f"  p{i} = {type_}[4]{{0}} parameter({i})" for i in range(operands)]
    arguments = ", ".join(f"p{i}" for i in range(operands))
    lines += [f"  r{i} = {type_}[4]{{0}} {name}({arguments})" for i, name in enumerate(names)]
    shapes = ", ".join([f"{type_}[4]{{0}}"] * len(names))
    lines.append(f"  ROOT t = ({shapes}) tuple({', '.join(f'r{i}' for i in range(len(names)))})")
    return program("\n".join(lines))


TEXTS: dict[str, str] = {
    "unary": _elementwise(
        "abs cbrt ceil cosine exponential exponential-minus-one floor log log-plus-one logistic negate "
        "round-nearest-afz round-nearest-even rsqrt sign sine sqrt tanh",
        "f32",
        1,
    ),
    "more unary": _elementwise("tan erf acos acosh asin asinh atanh cosh sinh copy", "f32", 1),
    "binary": _elementwise("add atan2 divide maximum minimum multiply power remainder subtract", "f32", 2),
    "integer unary": _elementwise("count-leading-zeros not popcnt negate abs sign", "s32", 1),
    "integer binary": _elementwise(
        "and or xor shift-left shift-right-arithmetic shift-right-logical add divide remainder", "u8", 2
    ),
    "complex": program("""
  a = f32[3]{0} parameter(0)
  b = f32[3]{0} parameter(1)
  c = c64[3]{0} complex(a, b)
  k = c64[] constant((1.5, -2))
  kk = c64[3]{0} broadcast(k), dimensions={}
  d = c64[3]{0} multiply(c, kk)
  re = f32[3]{0} real(d)
  im = f32[3]{0} imag(d)
  ROOT t = (f32[3]{0}, f32[3]{0}, c64[3]{0}) tuple(re, im, d)"""),
    "select": program("""
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} parameter(1)
  eq = pred[4]{0} compare(a, b), direction=EQ
  lt = pred[4]{0} compare(a, b), direction=LT, type=TOTALORDER
  finite = pred[4]{0} is-finite(a)
  s = f32[4]{0} select(lt, a, b)
  lo = f32[] constant(-0.5)
  hi = f32[] constant(0.5)
  c = f32[4]{0} clamp(lo, a, hi)
  r = f32[4]{0} reduce-precision(a), exponent_bits=5, mantissa_bits=3
  e = f32[4]{0} exponential(a), result_accuracy={mode=highest}
  ROOT t = (pred[4]{0}, pred[4]{0}, f32[4]{0}, f32[4]{0}, f32[4]{0}, /*index=5*/f32[4]{0}) tuple(eq, finite, s, c, r, /*index=5*/e)"""),
    "conversions": program("""
  a = f32[4]{0} parameter(0)
  small = s8[4]{0} convert(a)
  bf = bf16[4]{0} convert(a)
  e4 = f8e4m3fn[4]{0} convert(a)
  p = pred[4]{0} convert(a)
  bits = u32[4]{0} bitcast-convert(a)
  bytes = u8[4,4]{1,0} bitcast-convert(a)
  ROOT t = (s8[4]{0}, bf16[4]{0}, f8e4m3fn[4]{0}, pred[4]{0}, u32[4]{0}, /*index=5*/u8[4,4]{1,0}) tuple(small, bf, e4, p, bits, bytes)"""),
    "movement": program("""
  a = f32[2,3]{1,0} parameter(0)
  z = f32[] constant(7)
  reshape = f32[3,2]{1,0} reshape(a)
  transpose = f32[3,2]{1,0} transpose(a), dimensions={1,0}
  reverse = f32[2,3]{1,0} reverse(a), dimensions={1}
  concatenate = f32[4,3]{1,0} concatenate(a, reverse), dimensions={0}
  slice = f32[1,2]{1,0} slice(a), slice={[1:2], [0:3:2]}
  pad = f32[4,6]{1,0} pad(a, z), padding=1_1x0_-1_2
  broadcast = f32[2,3,4]{2,1,0} broadcast(a), dimensions={0,1}
  iota = s32[2,3]{1,0} iota(), iota_dimension=1
  i = s32[] constant(1)
  ds = f32[1,2]{1,0} dynamic-slice(a, i, i), dynamic_slice_sizes={1,2}
  dus = f32[2,3]{1,0} dynamic-update-slice(a, ds, i, i)
  size = s32[] get-dimension-size(a), dimensions={1}
  ROOT t = (f32[3,2], f32[3,2], f32[4,3], f32[1,2], f32[4,6], f32[2,3,4], s32[2,3], f32[1,2], f32[2,3], s32[]) tuple(reshape, transpose, concatenate, slice, pad, broadcast, iota, ds, dus, size)"""),
    "gather and scatter": program("""
  a = f32[5,3]{1,0} parameter(0)
  i = s32[2]{0} constant({3, 1})
  g = f32[2,3]{1,0} gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, indices_are_sorted=false
  s = f32[5,3]{1,0} scatter(a, i, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=add_f32
  ROOT t = (f32[2,3], f32[5,3]) tuple(g, s)"""),
    "dots": program(
        """
  a = f32[2,3,4]{2,1,0} parameter(0)
  b = f32[2,4,5]{2,1,0} parameter(1)
  d = f32[2,3,5]{2,1,0} dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={highest,default}
  w = f32[3,3]{1,0} slice(d), slice={[0:1], [0:3], [0:3]}
  ROOT r = f32[2,3,5]{2,1,0} add(d, d)""".replace("  w = f32[3,3]{1,0} slice(d), slice={[0:1], [0:3], [0:3]}\n", "")
    ),
    "convolution": program("""
  a = f32[1,6,6,2]{3,2,1,0} parameter(0)
  k = f32[3,3,2,4]{3,2,1,0} parameter(1)
  c = f32[1,3,6,4]{3,2,1,0} convolution(a, k), window={size=3x3 stride=2x1 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  g = f32[1,2,2,4]{3,2,1,0} slice(c), slice={[0:1], [0:2], [0:2], [0:4]}
  k2 = f32[2,2,1,4]{3,2,1,0} slice(k), slice={[0:2], [0:2], [0:1], [0:4]}
  d = f32[1,2,2,4]{3,2,1,0} convolution(g, k2), window={size=2x2 pad=0_1x0_1 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f, feature_group_count=4
  ROOT t = (f32[1,3,6,4], f32[1,2,2,4]) tuple(c, d)"""),
    "fft": program("""
  a = f32[8]{0} parameter(0)
  f = c64[5]{0} fft(a), fft_type=RFFT, fft_length={8}
  ROOT b = f32[8]{0} fft(f), fft_type=IRFFT, fft_length={8}"""),
    "linear algebra": program("""
  a = f32[3,3]{1,0} parameter(0)
  t = f32[3,3]{1,0} transpose(a), dimensions={1,0}
  s = f32[3,3]{1,0} dot(a, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  one = f32[3,3]{1,0} constant({ { 5, 0, 0 }, { 0, 5, 0 }, { 0, 0, 5 } })
  p = f32[3,3]{1,0} add(s, one)
  c = f32[3,3]{1,0} cholesky(p), lower=true
  ROOT x = f32[3,3]{1,0} triangular-solve(c, a), left_side=true, lower=true, unit_diagonal=false, transpose_a=TRANSPOSE"""),
    "batch norm": program("""
  x = f32[4,2]{1,0} parameter(0)
  scale = f32[2]{0} parameter(1)
  offset = f32[2]{0} parameter(2)
  n = (f32[4,2]{1,0}, f32[2]{0}, f32[2]{0}) batch-norm-training(x, scale, offset), epsilon=0.001, feature_index=1
  m = f32[2]{0} get-tuple-element(n), index=1
  v = f32[2]{0} get-tuple-element(n), index=2
  i = f32[4,2]{1,0} batch-norm-inference(x, scale, offset, m, v), epsilon=0.001, feature_index=1
  g = (f32[4,2]{1,0}, f32[2]{0}, f32[2]{0}) batch-norm-grad(x, scale, m, v, i), epsilon=0.001, feature_index=1
  gx = f32[4,2]{1,0} get-tuple-element(g), index=0
  ROOT t = (f32[4,2], f32[4,2]) tuple(i, gx)"""),
    "reductions": program(
        """
  a = f32[4,6]{1,0} parameter(0)
  z = f32[] constant(0)
  r = f32[4]{0} reduce(a, z), dimensions={1}, to_apply=add_f32
  w = f32[2,3]{1,0} reduce-window(a, z), window={size=2x2 stride=2x2}, to_apply=max_f32
  u = f32[4,6]{1,0} select-and-scatter(a, w, z), window={size=2x2 stride=2x2}, select=ge_f32, scatter=add_f32
  v = (f32[4]{0}, f32[4]{0}) reduce(a, a, z, z), dimensions={1}, to_apply=both
  v0 = f32[4]{0} get-tuple-element(v), index=0
  m = f32[4,6]{1,0} map(a, a), dimensions={0,1}, to_apply=add_f32
  s = f32[4,6]{1,0} sort(a), dimensions={1}, is_stable=true, to_apply=lt_f32
  ROOT t = (f32[4], f32[2,3], f32[4,6], f32[4], f32[4,6], f32[4,6]) tuple(r, w, u, v0, m, s)""",
        before="""
both {
  a0 = f32[] parameter(0)
  a1 = f32[] parameter(1)
  b0 = f32[] parameter(2)
  b1 = f32[] parameter(3)
  s = f32[] add(a0, b0)
  m = f32[] maximum(a1, b1)
  ROOT t = (f32[], f32[]) tuple(s, m)
}""",
    ),
    "top k": program("""
  a = f32[2,6]{1,0} parameter(0)
  ROOT k = (f32[2,3]{1,0}, s32[2,3]{1,0}) topk(a), k=3, largest=true"""),
    "sort of two": program(
        """
  a = f32[6]{0} parameter(0)
  i = s32[6]{0} iota(), iota_dimension=0
  ROOT s = (f32[6]{0}, s32[6]{0}) sort(a, i), dimensions={0}, to_apply=by_first""",
        before="""
%by_first (a: f32[], b: f32[], i: s32[], j: s32[]) -> pred[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  %i = s32[] parameter(2)
  %j = s32[] parameter(3)
  ROOT %r = pred[] compare(%a, %b), direction=GT
}""",
    ),
    "control flow": program(
        """
  a = f32[] parameter(0)
  n = s32[] constant(3)
  start = (s32[], (f32[], f32[])) tuple(n, pair)
  w = (s32[], (f32[], f32[])) while(start), condition=more, body=step
  inner = (f32[], f32[]) get-tuple-element(w), index=1
  x = f32[] get-tuple-element(inner), index=0
  p = pred[] compare(x, a), direction=GT
  c = f32[] conditional(p, x, a), true_computation=double, false_computation=same
  one = s32[] constant(1)
  k = f32[] conditional(one, c, c, x), branch_computations={double, same, double}
  called = f32[] call(k), to_apply=double
  f = f32[] fusion(called), kind=kLoop, calls=double
  ROOT t = (f32[], (f32[], f32[]), f32[]) tuple(f, inner, k)""".replace(
            "  start =", "  pair = (f32[], f32[]) tuple(a, a)\n  start ="
        ),
        before="""
double { x = f32[] parameter(0)  ROOT r = f32[] add(x, x) }
same { ROOT x = f32[] parameter(0) }
more {
  s = (s32[], (f32[], f32[])) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  z = s32[] constant(0)
  ROOT r = pred[] compare(n, z), direction=GT
}
step {
  s = (s32[], (f32[], f32[])) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  p = (f32[], f32[]) get-tuple-element(s), index=1
  x = f32[] get-tuple-element(p), index=0
  y = f32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  m = s32[] subtract(n, one)
  z = f32[] add(x, y)
  q = (f32[], f32[]) tuple(z, x)
  ROOT r = (s32[], (f32[], f32[])) tuple(m, q)
}""",
    ),
    "barrier": program("""
  a = f32[2]{0} parameter(0)
  p = (f32[2]{0}, f32[2]{0}) tuple(a, a)
  b = (f32[2]{0}, f32[2]{0}) opt-barrier(p)
  ROOT x = f32[2]{0} get-tuple-element(b), index=1"""),
    "random bits": program("""
  s = u64[2]{0} parameter(0)
  ROOT r = (u64[2]{0}, u32[6]{0}) rng-bit-generator(s), algorithm=rng_three_fry"""),
    "layouts": program("""
  a = f32[2,3]{1,0} parameter(0)
  c = f32[2,3]{0,1} copy(a)
  flat = f32[6]{0} bitcast(c)
  other = f32[3,2]{1,0} bitcast(c)
  same = s32[2,3]{1,0} bitcast(a)
  wide = u16[2,3,2]{2,1,0} bitcast(a)
  ROOT t = (f32[6], f32[3,2], s32[2,3], u16[2,3,2]) tuple(flat, other, same, wide)"""),
    "literals": program("""
  a = f32[2,3]{1,0} constant({ { 1, -2.5, inf }, { nan, -inf, 1e-05 } })
  b = pred[3]{0} constant({true, false, 1})
  c = c64[2]{0} constant({(1, 2), (-3, nan)})
  d = s4[3]{0} constant({-8, 7, 0})
  e = u64[] constant(18446744073709551615)
  f = bf16[2]{0} constant({1.5, -0})
  g = f8e5m2[2]{0} constant({1.5, inf})
  h = f32[0]{0} constant({})
  i = f32[2,2]{1,0} constant({ /*i0=0*/ { 1, 2 }, /*i0=1*/ { 3, 4 } })
  j = f32[2,1,2]{2,1,0} constant({ { {1,2} }, { {3,4} } })
  ROOT t = (f32[2,3], pred[3], c64[2], s4[3], u64[], bf16[2], f8e5m2[2], f32[0], f32[2,2], f32[2,1,2]) tuple(a, b, c, d, e, f, g, h, i, j)"""),
    "asynchronous": program(
        """
  a = f32[4]{0} parameter(0)
  cs = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(a)
  cd = f32[4]{0} copy-done(cs)
  s = ((f32[4]{0}), f32[4]{0}, s32[]) async-start(cd), calls=twice
  u = ((f32[4]{0}), f32[4]{0}, s32[]) async-update(s)
  d = f32[4]{0} async-done(u)
  s2 = ((f32[4]{0}), f32[2]{0}, s32[]) slice-start(d), slice={[0:2]}
  ROOT d2 = f32[2]{0} slice-done(s2)""",
        before="""
twice { x = f32[4]{0} parameter(0)  ROOT r = f32[4]{0} add(x, x) }""",
    ),
    "tokens": program("""
  a = f32[4]{0} parameter(0)
  t = token[] after-all()
  u = token[] after-all(t, t)
  ROOT b = f32[4]{0} add-dependency(a, u)"""),
    "operands with shapes": """
// A comment.
HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[4]{0}, (s32[], f32[4]{0}))->(f32[4]{0}, s32[])}

ENTRY %main.1 (a: f32[4], b: (s32[], f32[4])) -> (f32[4], s32[]) {
  %a = f32[4]{0} parameter(0), metadata={op_name="a"}
  %b = (s32[], f32[4]{0}) parameter(1)
  %n = s32[] get-tuple-element((s32[], f32[4]{0}) %b), index=0, metadata={op_type="x" op_name="jit(f)/n" source_file="model.py" source_line=7}
  %c = f32[4]{0} get-tuple-element((s32[], f32[4]{0}) %b),
       index=1 /* on a second line */
  %d = f32[4]{0} add(f32[4]{0} %a, f32[4]{0} %c), metadata={op_name="jit(f)/add" source_file="model.py" source_line=8 source_column=3}
  ROOT %t = (f32[4]{0}, s32[]) tuple(%d, %n)
}
""",
}
"""Texts that run on one device, by name."""

DEVICES: dict[str, str] = {
    "reductions": program(
        """
  a = f32[4]{0} parameter(0)
  r = f32[4]{0} all-reduce(a), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add_f32
  g = f32[8]{0} all-gather(r), channel_id=2, replica_groups=[1,2]<=[2], dimensions={0}, use_global_device_ids=true
  s = f32[4]{0} reduce-scatter(g), channel_id=3, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true, to_apply=add_f32
  p = f32[4]{0} collective-permute(s), channel_id=4, source_target_pairs={{0,1},{1,0}}
  x = f32[4]{0} all-to-all(p), channel_id=5, replica_groups={{0,1}}, dimensions={0}
  b = f32[4]{0} collective-broadcast(x), channel_id=6, replica_groups={{1,0}}
  i = u32[] partition-id()
  j = u32[] replica-id()
  ROOT t = (f32[4], f32[4], u32[], u32[]) tuple(p, b, i, j)""",
        header=", num_partitions=2",
    ),
    "asynchronous": program(
        """
  a = f32[4]{0} parameter(0)
  r = f32[4]{0} all-reduce-start(a), replica_groups={}, to_apply=add_f32
  rd = f32[4]{0} all-reduce-done(r)
  g = (f32[4]{0}, f32[8]{0}) all-gather-start(rd), replica_groups={{0,1}}, dimensions={0}
  gd = f32[8]{0} all-gather-done(g)
  p = (f32[8]{0}, f32[8]{0}, u32[], u32[]) collective-permute-start(gd), source_target_pairs={{0,1},{1,0}}
  ROOT pd = f32[8]{0} collective-permute-done(p)""",
        header=", replica_count=2",
    ),
    "all-to-all of tuples": program(
        """
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} negate(a)
  ROOT x = (f32[4]{0}, f32[4]{0}) all-to-all(a, b), replica_groups={{0,1}}""",
        header=", replica_count=2",
    ),
}
"""Texts for two devices."""

HOST = program("""
  a = f32[4]{0} parameter(0)
  t = token[] after-all()
  i = ((f32[4]{0}, s32[]), token[]) infeed(t), infeed_config="x"
  j = token[] get-tuple-element(i), index=1
  o = token[] outfeed(a, j), outfeed_shape=f32[4]{0}
  s = (f32[4]{0}, u32[], token[]) send(a, o), channel_id=1, is_host_transfer=true
  sd = token[] send-done(s), channel_id=1, is_host_transfer=true
  r = (f32[4]{0}, u32[], token[]) recv(sd), channel_id=2, is_host_transfer=true
  rd = (f32[4]{0}, token[]) recv-done(r), channel_id=2, is_host_transfer=true
  ROOT x = f32[4]{0} get-tuple-element(rd), index=0""")
"""A program that talks to its host."""
