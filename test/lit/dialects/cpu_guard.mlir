// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK: %{{.*}} = cpu.guard "enter"(%a : memref<4xf32>) {number = 3 : i64}
// CHECK: %{{.*}} = cpu.guard "leave"() {number = 3 : i64}
// CHECK: %{{.*}} = cpu.guard "begin"(%arena : memref<64xi8>) {number = 0 : i64, offset = 16 : i64, size = 8 : i64}
func.func @events(%a: memref<4xf32>, %arena: memref<64xi8>) {
  %0 = cpu.guard "enter"(%a : memref<4xf32>) {number = 3 : i64}
  %1 = cpu.guard "leave"() {number = 3 : i64}
  %2 = cpu.guard "begin"(%arena : memref<64xi8>) {number = 0 : i64, offset = 16 : i64, size = 8 : i64}
  func.return
}
