// RUN: hlo-opt %s --convert-rocdl-to-llvm | filecheck %s

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // CHECK-LABEL: func.func @k
  func.func @k(%x: i32, %i: i32) -> i32 {
    // CHECK: llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"() {range = array<i32: 0, 256>} : () -> i32
    %t = rocdl.workitem.id.x range <i32, 0, 256> : i32
    // CHECK: llvm.call_intrinsic "llvm.amdgcn.workgroup.id.z"() : () -> i32
    %b = rocdl.workgroup.id.z : i32
    // CHECK:      llvm.fence syncscope("workgroup") release
    // CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.s.barrier"() : () -> ()
    // CHECK-NEXT: llvm.fence syncscope("workgroup") acquire
    rocdl.barrier
    // CHECK: %[[PACKET:.*]] = llvm.call_intrinsic "llvm.amdgcn.dispatch.ptr"() : () -> !llvm.ptr<4>
    // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[PACKET]][6]
    // CHECK: %[[SIZE:.*]] = llvm.load %[[PLACE]] {alignment = 2 : i64} : !llvm.ptr<4> -> i16
    // CHECK: llvm.zext %[[SIZE]] : i16 to i32
    %n = rocdl.workgroup.dim.y : i32
    // CHECK: llvm.getelementptr %{{.*}}[12]
    // CHECK: llvm.getelementptr %{{.*}}[4]
    // CHECK: llvm.udiv
    %m = rocdl.grid.dim.x : i32
    // CHECK: llvm.call_intrinsic "llvm.amdgcn.mbcnt.lo"(%{{.*}}, %{{.*}}) : (i32, i32) -> i32
    %l = rocdl.mbcnt.lo %x, %i : (i32, i32) -> i32
    // CHECK: llvm.call_intrinsic "llvm.amdgcn.ds.bpermute"
    %p = rocdl.ds_bpermute %x, %i : (i32, i32) -> i32
    // CHECK: llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"
    %d = rocdl.update.dpp %x, %i with 78, 15, 15, false : i32
    func.return %d : i32
  }
}
