// RUN: hlo-opt %s --convert-to-llvm | filecheck %s

// A memref is a pointer; an access linearizes its indices with the known part folded.
// CHECK-LABEL: llvm.func @access(%m: !llvm.ptr, %i: i64)
// CHECK-DAG:     %[[EIGHT:.*]] = llvm.mlir.constant(8) : i64
// CHECK-DAG:     %[[THREE:.*]] = llvm.mlir.constant(3) : i64
// CHECK:         %[[ROW:.*]] = llvm.mul %i, %[[EIGHT]] overflow<nsw,nuw> : i64
// CHECK-NEXT:    %[[AT:.*]] = llvm.add %[[ROW]], %[[THREE]] overflow<nsw,nuw> : i64
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr inbounds %m[%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:    llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> f32
func.func @access(%m: memref<4x8xf32>, %i: index) -> f32 {
  %c3 = arith.constant 3 : index
  %v = memref.load %m[%i, %c3] : memref<4x8xf32>
  func.return %v : f32
}

// A bit takes a byte.
// CHECK-LABEL: llvm.func @bits
// CHECK-SAME:    (%[[M:.*]]: !llvm.ptr, %[[N:.*]]: !llvm.ptr)
// CHECK:         %[[BYTE:.*]] = llvm.load %[[M]] {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK-NEXT:    %[[BIT:.*]] = llvm.icmp "ne" %[[BYTE]], %{{.*}} : i8
// CHECK-NEXT:    %[[BACK:.*]] = llvm.zext %[[BIT]] : i1 to i8
// CHECK-NEXT:    llvm.store %[[BACK]], %[[N]] {alignment = 1 : i64} : i8, !llvm.ptr
func.func @bits(%m: memref<i1>, %n: memref<i1>) {
  %v = memref.load %m[] : memref<i1>
  memref.store %v, %n[] : memref<i1>
  func.return
}

// The slot of a loop body is made once, in the entry block.
// CHECK-LABEL: llvm.func @slot
// CHECK:         llvm.alloca %{{.*}} x f32 {alignment = 64 : i64}
// CHECK-NEXT:    llvm.br ^[[LOOP:bb[0-9]+]]
// CHECK:       ^[[LOOP]]
// CHECK-NOT:     llvm.alloca
func.func @slot(%v: f32, %c0: index) {
  cf.br ^loop
^loop:
  %s = memref.alloca() : memref<4xf32>
  memref.store %v, %s[%c0] : memref<4xf32>
  cf.br ^loop
}

// A subview moves the pointer.
// CHECK-LABEL: llvm.func @part
// CHECK-SAME:    (%[[M:.*]]: !llvm.ptr,
// CHECK:         llvm.getelementptr inbounds %[[M]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         llvm.call @use
func.func @part(%m: memref<4x8xf32>, %i: index) {
  %s = memref.subview %m[%i, 2] [1, 4] [1, 1] : memref<4x8xf32> to memref<1x4xf32, strided<[8, 1], offset: ?>>
  func.call @use(%s) : (memref<1x4xf32, strided<[8, 1], offset: ?>>) -> ()
  func.return
}
func.func private @use(memref<1x4xf32, strided<[8, 1], offset: ?>>)

// CHECK: llvm.mlir.global internal constant @table(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>)
// CHECK-SAME: alignment = 64 : i64
"memref.global"() <{sym_name = "table", sym_visibility = "private", constant, type = memref<2xf32>,
                    initial_value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> ()
