// RUN: hlo-opt %s --convert-to-llvm | filecheck %s
// An event of guard mode: its number among the events, that of the access, and the addresses of the buffers.

// CHECK-LABEL: llvm.func @f(%a: !llvm.ptr) -> i1
// CHECK:         %[[ARRAY:[0-9]+]] = llvm.alloca
// CHECK:         llvm.store %a, %[[ARRAY]]
// CHECK:         %[[ANSWER:[0-9]+]] = llvm.call @xhlo_guard(%{{[0-9]+}}, %{{[0-9]+}}, %[[ARRAY]])
// CHECK:         %[[OK:[a-z0-9]+]] = llvm.icmp "ne" %[[ANSWER]]
// CHECK:         llvm.return %[[OK]] : i1
// CHECK:       llvm.func @xhlo_guard(i64, i64, !llvm.ptr) -> i64
func.func @f(%a: memref<4xf32>) -> i1 {
  %ok = cpu.guard "leave"(%a : memref<4xf32>) {number = 3 : i64}
  func.return %ok : i1
}
