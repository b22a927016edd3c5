// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// The nvvm dialect's syntax is MLIR's.

// CHECK-LABEL: func.func @registers
func.func @registers() {
  // CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32
  %0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32
  // CHECK: nvvm.read.ptx.sreg.ctaid.y : i32
  %1 = nvvm.read.ptx.sreg.ctaid.y : i32
  // CHECK: nvvm.read.ptx.sreg.ntid.z : i32
  %2 = nvvm.read.ptx.sreg.ntid.z : i32
  // CHECK: nvvm.read.ptx.sreg.nctaid.x : i32
  %3 = nvvm.read.ptx.sreg.nctaid.x : i32
  // CHECK: nvvm.read.ptx.sreg.laneid range <i32, 0, 32> {some} : i32
  %4 = nvvm.read.ptx.sreg.laneid range <i32, 0, 32> {some} : i32
  // CHECK: nvvm.barrier0{{$}}
  nvvm.barrier0
  func.return
}

// CHECK-LABEL: func.func @shuffles
func.func @shuffles(%x: f32, %i: i32) {
  // CHECK: nvvm.shfl.sync bfly %[[I:.*]], %[[X:.*]], %[[I]], %[[I]] : f32 -> f32
  %0 = nvvm.shfl.sync bfly %i, %x, %i, %i : f32 -> f32
  // CHECK: nvvm.shfl.sync up %[[I]], %[[X]], %[[I]], %[[I]] {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
  %1 = nvvm.shfl.sync up %i, %x, %i, %i {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
  func.return
}
