// RUN: hlo-opt %s --schedule-kernels --split-input-file | filecheck %s

// Two large values, each read by a sum: each sum follows its value, so that one of them is alive at once.

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %a = func.call @big(%x)
// CHECK-NEXT:    %c = func.call @sum(%a)
// CHECK-NEXT:    %b = func.call @big(%y)
// CHECK-NEXT:    %d = func.call @sum(%b)
// CHECK-NEXT:    func.return %c, %d
func.func @main(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %a = func.call @big(%x) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %b = func.call @big(%y) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %c = func.call @sum(%a) : (tensor<512x512xf32>) -> tensor<512xf32>
  %d = func.call @sum(%b) : (tensor<512x512xf32>) -> tensor<512xf32>
  func.return %c, %d : tensor<512xf32>, tensor<512xf32>
}
func.func private @big(%x: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "loop"} {
  func.return %x : tensor<512x512xf32>
}
func.func private @sum(%x: tensor<512x512xf32>) -> tensor<512xf32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<512xf32>
  func.return %0 : tensor<512xf32>
}

// -----

// Small values keep the program's order.

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %a = func.call @small(%x)
// CHECK-NEXT:    %b = func.call @small(%y)
// CHECK-NEXT:    %c = func.call @sum(%a)
func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = func.call @small(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = func.call @small(%y) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = func.call @sum(%a) : (tensor<8x8xf32>) -> tensor<8xf32>
  %d = func.call @sum(%b) : (tensor<8x8xf32>) -> tensor<8xf32>
  func.return %c, %d : tensor<8xf32>, tensor<8xf32>
}
func.func private @small(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {hlo.kernel = "loop"} {
  func.return %x : tensor<8x8xf32>
}
func.func private @sum(%x: tensor<8x8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// A reader of what is updated in place stays before the update, and kernels that call the host keep their order.

// CHECK-LABEL: func.func @main
// CHECK:         %s = func.call @sum(%a)
// CHECK:         %u = func.call @update(%a
// CHECK:         %h = func.call @host(%b
// CHECK:         %i = func.call @host(%u
func.func @main(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) {
  %a = func.call @big(%x) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %b = func.call @big(%y) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %s = func.call @sum(%a) : (tensor<512x512xf32>) -> tensor<512xf32>
  %u = func.call @update(%a, %b) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %h = func.call @host(%b) : (tensor<512x512xf32>) -> tensor<512xf32>
  %i = func.call @host(%u) : (tensor<512x512xf32>) -> tensor<512xf32>
  func.return %s, %h, %i : tensor<512xf32>, tensor<512xf32>, tensor<512xf32>
}
func.func private @big(%x: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "loop"} {
  func.return %x : tensor<512x512xf32>
}
func.func private @sum(%x: tensor<512x512xf32>) -> tensor<512xf32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<512xf32>
  func.return %0 : tensor<512xf32>
}
func.func private @update(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>} {
  func.return %x : tensor<512x512xf32>
}
func.func private @host(%x: tensor<512x512xf32>) -> tensor<512xf32>
