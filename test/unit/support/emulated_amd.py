"""AMD's intrinsics for `emulated_gpu`: lanes exchange values through the slots of their wave."""

from __future__ import annotations

import re

_EXCHANGE = """
define i32 @emulated.lane() {
  %c = call ptr @pthread_getspecific(i32 KEY)
  %lp = getelementptr i8, ptr %c, i64 LANEID
  %lane = load i32, ptr %lp
  ret i32 %lane
}
define i32 @emulated.exchange(i32 %value, i32 %from) {
  %c = call ptr @pthread_getspecific(i32 KEY)
  %lane = call i32 @emulated.lane()
  %wp = getelementptr i8, ptr %c, i64 WAVE
  %wave = load ptr, ptr %wp
  %sp = getelementptr i8, ptr %c, i64 SLOTS
  %slots = load ptr, ptr %sp
  %own = getelementptr i32, ptr %slots, i32 %lane
  store i32 %value, ptr %own
  call i32 @pthread_barrier_wait(ptr %wave)
  %other = getelementptr i32, ptr %slots, i32 %from
  %result = load i32, ptr %other
  call i32 @pthread_barrier_wait(ptr %wave)
  ret i32 %result
}
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.usub.sat.i32(i32, i32)
define i32 @emulated.mbcnt.lo(i32 %mask, i32 %plus) {
  %lane = call i32 @emulated.lane()
  %below = call i32 @llvm.umin.i32(i32 %lane, i32 32)
  %r = add i32 %below, %plus
  ret i32 %r
}
define i32 @emulated.mbcnt.hi(i32 %mask, i32 %plus) {
  %lane = call i32 @emulated.lane()
  %below = call i32 @llvm.usub.sat.i32(i32 %lane, i32 32)
  %r = add i32 %below, %plus
  ret i32 %r
}
define i32 @emulated.ds.bpermute(i32 %address, i32 %value) {
  %lane = lshr i32 %address, 2
  %from = and i32 %lane, MOST
  %r = call i32 @emulated.exchange(i32 %value, i32 %from)
  ret i32 %r
}
define i32 @emulated.ds.swizzle(i32 %value, i32 %pattern) {
  %lane = call i32 @emulated.lane()
  %o5 = lshr i32 %pattern, 5
  %x10 = lshr i32 %pattern, 10
  %m = and i32 %pattern, 31
  %o = and i32 %o5, 31
  %x = and i32 %x10, 31
  %a = and i32 %lane, %m
  %b = or i32 %a, %o
  %low = xor i32 %b, %x
  %half = and i32 %lane, 32
  %from = or i32 %half, %low
  %r = call i32 @emulated.exchange(i32 %value, i32 %from)
  ret i32 %r
}
define i32 @emulated.update.dpp.i32(i32 %old, i32 %value, i32 %control, i32 %rows, i32 %banks, i1 %bound) {
  %lane = call i32 @emulated.lane()
  %member = and i32 %lane, 3
  %four = and i32 %lane, -4
  %twice = mul i32 %member, 2
  %shifted = lshr i32 %control, %twice
  %chosen = and i32 %shifted, 3
  %permuted = or i32 %four, %chosen
  %back = sub i32 %lane, 8
  %place = and i32 %back, 15
  %row = and i32 %lane, -16
  %rotated = or i32 %row, %place
  %rotates = icmp eq i32 %control, 296
  %from = select i1 %rotates, i32 %rotated, i32 %permuted
  %r = call i32 @emulated.exchange(i32 %value, i32 %from)
  ret i32 %r
}
define void @emulated.s.barrier() {
  call void @emulated.barrier0()
  ret void
}
"""


def functions(warp: int, laneid: int, wave: int, slots: int) -> str:
    """The functions in place of the intrinsics; the numbers are offsets of a thread's context."""
    text = _EXCHANGE.replace("LANEID", str(laneid)).replace("WAVE", str(wave)).replace("SLOTS", str(slots))
    return text.replace("MOST", str(warp - 1))


def for_cpu(text: str) -> str:
    """Device code without the stack's address space, and with the names of the emulation's functions."""
    text = text.replace("amdgpu_kernel ", "ptx_kernel ").replace(", addrspace(5)", "")
    text = re.sub(r"addrspacecast ptr addrspace\(5\) (\S+) to ptr", r"bitcast ptr \1 to ptr", text)
    text = re.sub(r"declare [^\n]*@llvm\.amdgcn\.[^\n]*\n", "", text)
    text = text.replace("@llvm.amdgcn.workitem.id.", "@emulated.tid.").replace(
        "@llvm.amdgcn.workgroup.id.", "@emulated.ctaid."
    )
    return text.replace("@llvm.amdgcn.", "@emulated.")
