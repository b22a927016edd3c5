// RUN: hlo-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: hlo-opt %s --split-input-file --verify-diagnostics --emit=llvm | filecheck %s --check-prefix=LLVM

// CHECK-LABEL: llvm.func @add
// LLVM-LABEL:  define i32 @add
llvm.func @add(%p: !llvm.ptr<1>, %x: i32) -> i32 {
  // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} monotonic : !llvm.ptr<1>, i32
  // LLVM:  atomicrmw add ptr addrspace(1) %v0, i32 %v1 monotonic
  %0 = llvm.atomicrmw add %p, %x monotonic : !llvm.ptr<1>, i32
  // CHECK: llvm.atomicrmw _and %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
  // LLVM:  atomicrmw and ptr addrspace(1) %v0, i32 %v1 syncscope("device") monotonic
  %1 = llvm.atomicrmw _and %p, %x syncscope("device") monotonic : !llvm.ptr<1>, i32
  llvm.return %1 : i32
}
