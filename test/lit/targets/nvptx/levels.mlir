// One program at every level between hlo and PTX, for a chip other than the default one; "gpu" is the same target, and
// emission continues the lowering from that level.
// RUN: hlo-opt %s --fuse --lower=loops --target=nvptx --chip=sm_80 | filecheck %s --check-prefix=GPU
// RUN: hlo-opt %s --fuse --lower=nvvm --target=nvptx --chip=sm_80 -o %t.nvvm.mlir
// RUN: filecheck %s --check-prefix=NVVM < %t.nvvm.mlir
// RUN: hlo-opt %s --fuse --lower --target=nvptx --chip=sm_80 -o %t.llvm.mlir
// RUN: filecheck %s --check-prefix=DIALECT < %t.llvm.mlir
// RUN: hlo-opt %s --fuse --lower --target=nvptx --chip=sm_80 --emit=llvm | filecheck %s --check-prefix=LLVM
// RUN: hlo-opt %s --fuse --lower=linalg --target=gpu --chip=sm_80 --emit=ptx -o %t.ptx
// RUN: filecheck %s --check-prefix=PTX < %t.ptx

// The text of each level is read back and lowered further.
// RUN: hlo-opt %t.nvvm.mlir --convert-nvvm-to-llvm --convert-to-llvm --target=nvptx --chip=sm_80 --emit=ptx -o %t.nvvm.ptx
// RUN: cmp %t.ptx %t.nvvm.ptx
// RUN: hlo-opt %t.llvm.mlir --target=nvptx --chip=sm_80 --emit=ptx -o %t.llvm.ptx
// RUN: cmp %t.ptx %t.llvm.ptx

// A module is for one chip.
// RUN: not hlo-opt %t.llvm.mlir --target=nvptx --emit=ptx 2>&1 | filecheck %s --check-prefix=OTHER
// OTHER: error: 'gpu.module' op is made for sm_80, not for sm_90: give --chip=sm_80, or map it anew

// GPU-LABEL: func.func @main(
// GPU:         func.call @loop_fusion_0(
// GPU:       func.func private @loop_fusion_0(%x: memref<1000xf32>, %y: memref<1000xf32>, %{{.*}}: memref<1000xf32>)
// GPU:         gpu.launch_func @kernels::@loop_fusion_0 blocks in ({{.*}}) threads in ({{.*}}) args(%x : memref<1000xf32>,
// GPU:       gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
// GPU:         gpu.func @loop_fusion_0(%x: memref<1000xf32>, {{.*}}) kernel attributes {known_block_size = array<i32: [[THREADS:[0-9]+]], 1, 1>
// GPU:           gpu.thread_id x
// GPU:           arith.mulf
// GPU-NEXT:      arith.addf
// GPU:           gpu.return

// NVVM:       func.func private @loop_fusion_0(
// NVVM:         gpu.launch_func @kernels::@loop_fusion_0
// NVVM:       gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
// NVVM:         func.func @loop_fusion_0({{.*}}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: [[THREADS:[0-9]+]], 1, 1>
// NVVM:           nvvm.read.ptx.sreg.tid.x range <i32, 0, [[THREADS]]> : i32
// NVVM-NOT:       scf.
// NVVM-NOT:       gpu.

// DIALECT:    gpu.launch_func @kernels::@loop_fusion_0
// DIALECT:    llvm.func @loop_fusion_0(%x: !llvm.ptr<1> {llvm.noalias, {{.*}}llvm.align = 16 : i64
// DIALECT:      llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"()
// DIALECT:      llvm.fmul
// DIALECT:      llvm.return

// LLVM:       target triple = "nvptx64-nvidia-cuda"
// LLVM:       define ptx_kernel void @loop_fusion_0(ptr addrspace(1) noalias {{.*}}align 16 %v0, {{.*}}"nvvm.reqntid"="{{[0-9]+}},1,1"
// LLVM:         call range(i32 0, {{[0-9]+}}) i32 @llvm.nvvm.read.ptx.sreg.tid.x()

// PTX:        .version 7.8
// PTX-NEXT:   .target sm_80
// PTX-NEXT:   .address_size 64
// PTX:        .visible .entry loop_fusion_0(
// PTX:          .param .u64 .ptr .global .align 16 loop_fusion_0_param_0
// PTX:        .reqntid {{[0-9]+}}
// PTX:          ld.global.nc
// PTX:          mul.rn.f32
// PTX:          add.rn.f32
// PTX:          st.global
func.func @main(%x: tensor<1000xf32>, %y: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = hlo.multiply %x, %y : tensor<1000xf32>
  %1 = hlo.add %0, %y : tensor<1000xf32>
  func.return %1 : tensor<1000xf32>
}
