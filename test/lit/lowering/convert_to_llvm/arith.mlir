// RUN: hlo-opt %s --convert-to-llvm | filecheck %s

// CHECK-LABEL: llvm.func @floats
// CHECK:         %[[A:.*]] = llvm.fadd %x, %y {fastmathFlags = #llvm.fastmath<reassoc>} : f32
// CHECK-NEXT:    %[[M:.*]] = llvm.call_intrinsic "llvm.maximum.f32"(%[[A]], %y)
// CHECK-NEXT:    %[[C:.*]] = llvm.fcmp "olt" %[[M]], %y : f32
// CHECK-NEXT:    llvm.select %[[C]], %[[M]], %y : i1, f32
func.func @floats(%x: f32, %y: f32) -> f32 {
  %a = arith.addf %x, %y fastmath<reassoc> : f32
  %m = arith.maximumf %a, %y : f32
  %c = arith.cmpf olt, %m, %y : f32
  %r = arith.select %c, %m, %y : f32
  func.return %r : f32
}

// index is i64.
// CHECK-LABEL: llvm.func @casts(%i: i64, %k: i32)
// CHECK-NEXT:    llvm.trunc %i : i64 to i8
// CHECK-NEXT:    llvm.sext %k : i32 to i64
// CHECK-NEXT:    llvm.uitofp %k : i32 to f64
// CHECK-NEXT:    llvm.return
func.func @casts(%i: index, %k: i32) {
  %a = arith.index_cast %i : index to i8
  %b = arith.index_cast %k : i32 to index
  %c = arith.uitofp %k : i32 to f64
  func.return
}

// Arithmetic on bf16 is arithmetic on f32, rounded by integer operations; its values are the i16 of their bits.
// CHECK-LABEL: llvm.func @narrow
// CHECK-COUNT-2: llvm.shl
// CHECK:         llvm.fmul %{{.*}}, %{{.*}} : f32
// CHECK-NOT:     llvm.fptrunc
// CHECK:         llvm.return %{{.*}} : i16
func.func @narrow(%x: bf16, %y: bf16) -> bf16 {
  %r = arith.mulf %x, %y : bf16
  func.return %r : bf16
}

// The same holds where the only bf16 is a constant.
// CHECK-LABEL: llvm.func @passes_a_constant
// CHECK-NEXT:    %[[BITS:.*]] = llvm.mlir.constant(16320 : i16) : i16
// CHECK-NEXT:    llvm.call @takes(%[[BITS]]) : (i16) -> ()
func.func private @takes(bf16)
func.func @passes_a_constant() {
  %c = arith.constant 1.5 : bf16
  func.call @takes(%c) : (bf16) -> ()
  func.return
}

// CHECK-LABEL: llvm.func @unpredictable
// CHECK:         llvm.select %{{.*}}, %{{.*}}, %{{.*}} {xhlo.unpredictable} : i1, f32
func.func @unpredictable(%c: i1, %x: f32, %y: f32) -> f32 {
  %r = arith.select %c, %x, %y {xhlo.unpredictable} : f32
  func.return %r : f32
}

// Functions that expand-math leaves become calls of the C library.
// CHECK-LABEL: llvm.func @library
// CHECK-SAME:    (%[[X:.*]]: f64, %[[Y:.*]]: f32)
// CHECK:         llvm.call @cbrt(%[[X]]) : (f64) -> f64
// CHECK:         llvm.call @atan2f(%[[Y]], %[[Y]]) : (f32, f32) -> f32
func.func @library(%x: f64, %y: f32) {
  %a = math.cbrt %x : f64
  %b = math.atan2 %y, %y : f32
  func.return
}
// CHECK-DAG: llvm.func @cbrt(f64) -> f64
// CHECK-DAG: llvm.func @atan2f(f32, f32) -> f32
