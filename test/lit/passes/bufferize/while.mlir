// RUN: hlo-opt %s --bufferize | filecheck %s
// A loop keeps its state in buffers: the accumulator is the function's result and is updated in place, the state
// that is read by its neighbour's next value is saved before it is overwritten.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: memref<8xf32>, %[[ACC:.*]]: memref<4x8xf32>, %[[OUT0:.*]]: memref<4x8xf32>, %[[OUT1:.*]]: memref<8xf32>)
// CHECK:         %[[C:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    func.call @k(%[[X]], %[[C]])
// CHECK-NEXT:    %[[I:.*]] = memref.alloc() : memref<i32>
// CHECK-NEXT:    "memref.copy"(%{{.*}}, %[[I]])
// CHECK-NEXT:    "memref.copy"(%[[ACC]], %[[OUT0]])
// CHECK-NEXT:    "memref.copy"(%[[X]], %[[OUT1]])
// CHECK-NEXT:    scf.while () : () -> () {
// CHECK:           memref.load
// CHECK-NEXT:      scf.condition
// CHECK:         } do {
// CHECK:           %[[J:.*]] = memref.alloc() : memref<i32>
// CHECK-NEXT:      func.call @inc(%[[I]], %[[J]])
// CHECK:           %[[N:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:      func.call @k(%[[C]], %[[N]])
// CHECK-NEXT:      %[[ROW:.*]] = memref.reinterpret_cast %[[N]]
// CHECK-NEXT:      func.call @upd(%[[OUT0]], %[[ROW]], %[[I]])
// CHECK-NEXT:      %[[SAVED:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:      "memref.copy"(%[[C]], %[[SAVED]])
// CHECK-NEXT:      "memref.copy"(%[[J]], %[[I]])
// CHECK-NEXT:      "memref.copy"(%[[N]], %[[C]])
// CHECK-NEXT:      "memref.copy"(%[[SAVED]], %[[OUT1]])
// CHECK-NEXT:      scf.yield
func.func @main(%x: tensor<8xf32>, %acc: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0> : tensor<i32>
  %0 = func.call @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %r:4 = scf.while (%i = %zero, %a = %acc, %c = %0, %d = %x) : (tensor<i32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<i32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %p = func.call @lt(%i) : (tensor<i32>) -> tensor<i1>
    %q = tensor.extract %p[] : tensor<i1>
    scf.condition(%q) %i, %a, %c, %d : tensor<i32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<4x8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>):
    %j = func.call @inc(%i) : (tensor<i32>) -> tensor<i32>
    %n = func.call @k(%c) : (tensor<8xf32>) -> tensor<8xf32>
    %row = tensor.expand_shape %n [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
    %u = func.call @upd(%a, %row, %i) : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<4x8xf32>
    scf.yield %j, %u, %n, %c : tensor<i32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.return %r#1, %r#3 : tensor<4x8xf32>, tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "loop"} {
  func.return %x : tensor<8xf32>
}
func.func private @inc(%x: tensor<i32>) -> tensor<i32> attributes {hlo.kernel = "loop"} {
  func.return %x : tensor<i32>
}
func.func private @lt(%x: tensor<i32>) -> tensor<i1> attributes {hlo.kernel = "loop"} {
  %s = tensor.extract %x[] : tensor<i32>
  %z = arith.constant 3 : i32
  %c = arith.cmpi slt, %s, %z : i32
  %e = tensor.empty() : tensor<i1>
  %r = linalg.fill ins(%c : i1) outs(%e : tensor<i1>) -> tensor<i1>
  func.return %r : tensor<i1>
}
func.func private @upd(%b: tensor<4x8xf32>, %x: tensor<1x8xf32>, %i: tensor<i32>) -> tensor<4x8xf32> attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>} {
  %s = tensor.extract %i[] : tensor<i32>
  %si = arith.index_cast %s : i32 to index
  %r = tensor.insert_slice %x into %b[%si, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}
