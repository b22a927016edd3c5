// RUN: hlo-opt %s --verify-roundtrip --split-input-file --verify-diagnostics | filecheck %s

// The rocdl dialect's syntax is MLIR's.

// CHECK: gpu.module @kernels [#rocdl.target<chip = "gfx942">]
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
}

// CHECK-LABEL: func.func @numbers
func.func @numbers() {
  // CHECK: rocdl.workitem.id.x range <i32, 0, 256> : i32
  %0 = rocdl.workitem.id.x range <i32, 0, 256> : i32
  // CHECK: rocdl.workgroup.id.y : i32
  %1 = rocdl.workgroup.id.y : i32
  // CHECK: rocdl.workgroup.dim.z : i32
  %2 = rocdl.workgroup.dim.z : i32
  // CHECK: rocdl.grid.dim.x {some} : i32
  %3 = rocdl.grid.dim.x {some} : i32
  // CHECK: rocdl.barrier{{$}}
  rocdl.barrier
  // CHECK: llvm.fence syncscope("workgroup") release
  llvm.fence syncscope("workgroup") release
  // CHECK: llvm.fence seq_cst
  llvm.fence seq_cst
  func.return
}

// CHECK-LABEL: func.func @lanes
func.func @lanes(%x: i32, %i: i32, %p: !llvm.ptr<5>) {
  // CHECK: rocdl.mbcnt.lo %[[X:.*]], %[[I:.*]] : (i32, i32) -> i32
  %0 = rocdl.mbcnt.lo %x, %i : (i32, i32) -> i32
  // CHECK: rocdl.mbcnt.hi %[[X]], %[[I]] : (i32, i32) -> i32
  %1 = rocdl.mbcnt.hi %x, %i : (i32, i32) -> i32
  // CHECK: rocdl.ds_bpermute %[[X]], %[[I]] : (i32, i32) -> i32
  %2 = rocdl.ds_bpermute %x, %i : (i32, i32) -> i32
  // CHECK: %[[LANES:.*]] = arith.constant 4127 : i32
  %swap = arith.constant 4127 : i32
  // CHECK: rocdl.ds_swizzle %[[X]], %[[LANES]] : (i32, i32) -> i32
  %3 = rocdl.ds_swizzle %x, %swap : (i32, i32) -> i32
  // CHECK: rocdl.update.dpp %[[X]], %[[I]] with 177, 15, 15, false : i32
  %4 = rocdl.update.dpp %x, %i with 177, 15, 15, false : i32
  // CHECK: llvm.addrspacecast %{{.*}} : !llvm.ptr<5> to !llvm.ptr
  %5 = llvm.addrspacecast %p : !llvm.ptr<5> to !llvm.ptr
  func.return
}

// -----

func.func @lanes(%x: i32, %i: i32) {
  // expected-error@+1 {{the lanes are selected by a constant, which is part of the instruction}}
  %0 = rocdl.ds_swizzle %x, %i : (i32, i32) -> i32
  func.return
}

// -----

func.func @lanes(%x: i32) {
  // expected-error@+1 {{the control is 512; it has 9 bits}}
  %0 = rocdl.update.dpp %x, %x with 512, 15, 15, false : i32
  func.return
}

// -----

func.func @lanes(%x: i32) {
  // expected-error@+1 {{the masks are 16 and 15; they have 4 bits}}
  %0 = rocdl.update.dpp %x, %x with 1, 16, 15, true : i32
  func.return
}
