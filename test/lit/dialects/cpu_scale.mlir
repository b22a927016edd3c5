// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt %s --convert-to-llvm | filecheck %s --check-prefix=LLVM

// CHECK-LABEL: @scaled
// CHECK:         cpu.scale %x, %n : f32
// CHECK:         cpu.scale %y, %n : f64
// LLVM:          llvm.call_intrinsic "llvm.ldexp.f32.i32"
// LLVM:          llvm.call_intrinsic "llvm.ldexp.f64.i32"
func.func private @scaled(%x: f32, %y: f64, %n: i32) -> (f32, f64) {
  %0 = cpu.scale %x, %n : f32
  %1 = cpu.scale %y, %n : f64
  func.return %0, %1 : f32, f64
}
