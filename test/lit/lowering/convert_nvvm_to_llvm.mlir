// RUN: hlo-opt %s --convert-nvvm-to-llvm | filecheck %s

gpu.module @kernels {
  // CHECK-LABEL: func.func @registers() attributes {nvvm.kernel}
  func.func @registers() attributes {nvvm.kernel} {
    // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() {range = array<i32: 0, 256>} : () -> i32
    %0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.nctaid.z"() : () -> i32
    %1 = nvvm.read.ptx.sreg.nctaid.z : i32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier0"() : () -> ()
    nvvm.barrier0
    func.return
  }

  // CHECK-LABEL: func.func @shuffles
  func.func @shuffles(%x: f32, %i: i32) {
    // CHECK: llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.f32"({{.*}}) : (i32, f32, i32, i32) -> f32
    %0 = nvvm.shfl.sync bfly %i, %x, %i, %i : f32 -> f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32p"({{.*}}) : (i32, i32, i32, i32) -> !llvm.struct<(i32, i1)>
    %1 = nvvm.shfl.sync up %i, %i, %i, %i {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
    func.return
  }
}
