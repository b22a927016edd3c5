// RUN: hlo-opt %s --convert-loops-to-cf --convert-to-llvm | filecheck %s

// In a parallel loop the neighbours of %m[%i] are elements %i of buffers that begin one later and one earlier, which is not
// in bounds. In other loops the index is moved.
// CHECK-LABEL: llvm.func @parallel
// CHECK:         %[[A:.*]] = llvm.getelementptr inbounds %m[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:    %[[NEXT:.*]] = llvm.getelementptr inbounds %[[A]][%[[I:.*]]]
// CHECK-NEXT:    llvm.load %[[NEXT]]
// CHECK:         %[[B:.*]] = llvm.getelementptr %m[
// CHECK-NEXT:    %[[LAST:.*]] = llvm.getelementptr %[[B]][%[[I]]]
// CHECK-NEXT:    llvm.load %[[LAST]]
func.func @parallel(%m: memref<64xf32>, %n: memref<64xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %minus = arith.constant -1 : index
  %end = arith.constant 63 : index
  scf.for %i = %one to %end step %one {
    %p = arith.addi %i, %one : index
    %x = memref.load %m[%p] : memref<64xf32>
    %q = arith.addi %i, %minus : index
    %y = memref.load %m[%q] : memref<64xf32>
    %z = arith.addf %x, %y : f32
    memref.store %z, %n[%i] : memref<64xf32>
  } {xhlo.parallel}
  func.return
}

// CHECK-LABEL: llvm.func @in_order
// CHECK:         %[[P:.*]] = llvm.add
// CHECK-NEXT:    llvm.getelementptr inbounds %{{.*}}[%[[P]]]
func.func @in_order(%m: memref<64xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 63 : index
  scf.for %i = %zero to %end step %one {
    %p = arith.addi %i, %one : index
    %x = memref.load %m[%p] : memref<64xf32>
    memref.store %x, %m[%i] : memref<64xf32>
  }
  func.return
}
