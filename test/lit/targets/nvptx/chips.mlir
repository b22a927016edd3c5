// The default PTX version of each chip, and other versions on request.
// RUN: hlo-opt %s --target=nvptx --emit=ptx | filecheck %s --check-prefixes=CHECK,SM90
// RUN: hlo-opt %s --target=nvptx --emit=ptx --chip=sm_75 | filecheck %s --check-prefixes=CHECK,SM75
// RUN: hlo-opt %s --target=nvptx --emit=ptx --chip=sm_90a | filecheck %s --check-prefixes=CHECK,SM90A
// RUN: hlo-opt %s --target=nvptx --emit=ptx --chip=sm_100 | filecheck %s --check-prefixes=CHECK,SM100
// RUN: hlo-opt %s --target=nvptx --emit=ptx --chip=sm_100a | filecheck %s --check-prefixes=CHECK,SM100A
// RUN: hlo-opt %s --target=nvptx --emit=ptx --chip=sm_80 --ptx-version=8.3 | filecheck %s --check-prefixes=CHECK,NEWER
// RUN: hlo-opt %s --target=nvptx --emit=ptx --chip=sm_75 --ptx-version=6.3 | filecheck %s --check-prefixes=CHECK,OLDER
// RUN: hlo-opt %s --target=nvptx --emit=llvm --chip=sm_75 | filecheck %s --check-prefix=TEXT

// SM90:   .version 7.8
// SM90:   .target sm_90{{$}}
// SM75:   .version 7.8
// SM75:   .target sm_75
// SM90A:  .version 8.0
// SM90A:  .target sm_90a
// SM100:  .version 8.6
// SM100:  .target sm_100{{$}}
// SM100A: .version 8.6
// SM100A: .target sm_100a
// NEWER:  .version 8.3
// OLDER:  .version 6.3

// A module that has only llvm functions consists of device functions.
// TEXT:   target triple = "nvptx64-nvidia-cuda"
// TEXT:   define ptx_kernel void @first(

// CHECK:  .visible .entry first(
// CHECK:  .reqntid 64, 1, 1
// CHECK:    mov.u32 %r{{.*}}, %tid.x;
// CHECK:    st.global.b32
llvm.func @first(%out: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
  %t = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
  %p = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %t, %p : i32, !llvm.ptr<1>
  llvm.return
}
