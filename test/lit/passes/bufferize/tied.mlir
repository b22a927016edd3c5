// RUN: hlo-opt %s --bufferize | filecheck %s
// An update takes its operand's buffer only where nothing reads the old value afterwards, and never an input's.

// CHECK-LABEL: func.func @last_use
// CHECK:         %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    func.call @k(%{{.*}}, %[[A]])
// CHECK-NEXT:    func.call @upd(%[[A]], %{{.*}})
// CHECK-NEXT:    func.call @k(%[[A]], %{{.*}})
// CHECK-NOT:     memref.copy
func.func @last_use(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %a = func.call @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = func.call @upd(%a, %i) : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  %c = func.call @k(%b) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %c : tensor<8xf32>
}

// CHECK-LABEL: func.func @read_again
// CHECK:         %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK:         %[[B:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    "memref.copy"(%[[A]], %[[B]])
// CHECK-NEXT:    func.call @upd(%[[B]], %{{.*}})
func.func @read_again(%x: tensor<8xf32>, %i: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = func.call @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = func.call @upd(%a, %i) : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  %c = func.call @k(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %d = func.call @k(%b) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %c, %d : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @input
// CHECK-SAME:    (%[[X:.*]]: memref<8xf32>, %{{.*}}: memref<i32>, %[[OUT:.*]]: memref<8xf32>)
// CHECK-NEXT:    "memref.copy"(%[[X]], %[[OUT]])
// CHECK-NEXT:    func.call @upd(%[[OUT]], %{{.*}})
func.func @input(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %b = func.call @upd(%x, %i) : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  func.return %b : tensor<8xf32>
}

func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "loop"} {
  func.return %x : tensor<8xf32>
}
func.func private @upd(%b: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>} {
  func.return %b : tensor<8xf32>
}
