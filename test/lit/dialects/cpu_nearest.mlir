// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt %s --convert-to-llvm | filecheck %s --check-prefix=LLVM

// CHECK-LABEL: @nearest
// CHECK:         cpu.nearest %x : f32 to i32
// CHECK:         cpu.nearest %y : f64 to i64
// LLVM:          llvm.call_intrinsic "llvm.lrint.i32.f32"
// LLVM:          llvm.call_intrinsic "llvm.lrint.i64.f64"
func.func private @nearest(%x: f32, %y: f64) -> (i32, i64) {
  %0 = cpu.nearest %x : f32 to i32
  %1 = cpu.nearest %y : f64 to i64
  func.return %0, %1 : i32, i64
}
