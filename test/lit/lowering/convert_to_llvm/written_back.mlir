// RUN: hlo-opt %s -p 'convert-to-llvm{slow-masks=true}' | filecheck %s
// RUN: hlo-opt %s --convert-to-llvm | filecheck %s --check-prefix=FAST

// A choice between an element and another value goes back to the element's place: LLVM is not to see a masked store.
// CHECK-LABEL: llvm.func @choice
// CHECK:         %[[OLD:.*]] = llvm.load
// CHECK-NEXT:    %[[KEPT:.*]] = llvm.freeze %[[OLD]] : f32
// CHECK-NEXT:    %[[NEW:.*]] = llvm.select %{{.*}}, %{{.*}}, %[[KEPT]] : i1, f32
// CHECK:         llvm.store %[[NEW]]
// FAST-LABEL: llvm.func @choice
// FAST-NOT:     llvm.freeze
func.func @choice(%m: memref<8xf32>, %i: index, %c: i1, %x: f32) {
  %old = memref.load %m[%i] : memref<8xf32>
  %new = arith.select %c, %x, %old : f32
  memref.store %new, %m[%i] : memref<8xf32>
  func.return
}

// A maximum looks for NaN, and the last step of a function may be a choice.
// CHECK-LABEL: llvm.func @others
// CHECK:         llvm.freeze %{{.*}} : f32
// CHECK:         llvm.freeze %{{.*}} : i64
// CHECK:         llvm.freeze %{{.*}} : f32
func.func @others(%m: memref<8xf32>, %n: memref<8xi64>, %i: index, %x: f32, %y: i64) {
  %a = memref.load %m[%i] : memref<8xf32>
  %b = arith.maximumf %x, %a : f32
  memref.store %b, %m[%i] : memref<8xf32>
  %c = memref.load %n[%i] : memref<8xi64>
  %d = arith.minsi %c, %y : i64
  memref.store %d, %n[%i] : memref<8xi64>
  %e = memref.load %m[%i] : memref<8xf32>
  %f = func.call @function(%e) : (f32) -> f32
  memref.store %f, %m[%i] : memref<8xf32>
  func.return
}
func.func private @function(f32) -> f32

// Other places, other buffers, sums, and choices that are not stored.
// CHECK-LABEL: llvm.func @elsewhere
// CHECK-NOT:     llvm.freeze
// CHECK:         llvm.return
func.func @elsewhere(%m: memref<8xf32>, %n: memref<8xf32>, %i: index, %j: index, %c: i1, %x: f32) -> f32 {
  %a = memref.load %m[%i] : memref<8xf32>
  %b = arith.select %c, %x, %a : f32
  memref.store %b, %m[%j] : memref<8xf32>
  memref.store %b, %n[%i] : memref<8xf32>
  %d = memref.load %n[%j] : memref<8xf32>
  %e = arith.addf %d, %b : f32
  memref.store %e, %n[%j] : memref<8xf32>
  %f = arith.select %c, %x, %e : f32
  func.return %f : f32
}

// A buffer on the stack is read again soon, and a load would wait for a store under a mask, on all machines.
// CHECK-LABEL: llvm.func @stack
// CHECK:         llvm.freeze
// FAST-LABEL: llvm.func @stack
// FAST:         llvm.freeze
func.func @stack(%i: index, %c: i1, %x: f32) -> f32 {
  %m = memref.alloca() : memref<8xf32>
  %old = memref.load %m[%i] : memref<8xf32>
  %new = arith.select %c, %x, %old : f32
  memref.store %new, %m[%i] : memref<8xf32>
  %read = memref.load %m[%i] : memref<8xf32>
  func.return %read : f32
}

// A call that has no result.
// CHECK-LABEL: llvm.func @no_result
// CHECK-NOT:     llvm.freeze
// CHECK:         llvm.call @procedure
func.func @no_result(%m: memref<8xf32>, %i: index) {
  %a = memref.load %m[%i] : memref<8xf32>
  func.call @procedure(%a) : (f32) -> ()
  func.return
}
func.func private @procedure(f32)
