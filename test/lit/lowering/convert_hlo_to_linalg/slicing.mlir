// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// CHECK-LABEL: @strided
// CHECK:         affine_map<(d0) -> (((d0 * 3) + 1))>
func.func private @strided(%x: tensor<7xf32>) -> tensor<2xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.slice %x [1:7:3] : (tensor<7xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A plain index would cover the whole operand, and give a loop of 7.
// CHECK-LABEL: @first
// CHECK:         affine_map<(d0) -> ((d0 mod 7))>
func.func private @first(%x: tensor<7xf32>) -> tensor<2xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.slice %x [0:2] : (tensor<7xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Nothing is read, in particular nothing after the end.
// CHECK-LABEL: @nothing
// CHECK:         affine_map<(d0) -> (0)>
func.func private @nothing(%x: tensor<7xf32>) -> tensor<0xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.slice %x [7:7] : (tensor<7xf32>) -> tensor<0xf32>
  return %0 : tensor<0xf32>
}

// CHECK-LABEL: @joined
// CHECK:         %[[E:[0-9]+]] = tensor.empty() : tensor<5xf32>
// CHECK-NEXT:    %[[A:[0-9]+]] = tensor.insert_slice %x into %[[E]][0] [2] [1] :
// CHECK-NEXT:    tensor.insert_slice %y into %[[A]][2] [3] [1] :
func.func private @joined(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> attributes {hlo.kernel = "concatenate"} {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// Every element reads an index inside the operand, and selects the value if the index was right.
// CHECK-LABEL: @padded
// CHECK:         ^bb0(%[[PAD:[0-9]+]]: f32,
// CHECK:           arith.remsi
// CHECK:           %[[INSIDE:[0-9]+]] = arith.andi
// CHECK:           %[[PLACE:[0-9]+]] = arith.maxsi
// CHECK-NOT:       arith.minsi
// CHECK:           %[[READ:[0-9]+]] = tensor.extract %x[%[[PLACE]]{{\]}}
// CHECK:           arith.select %{{[0-9]+}}, %[[READ]], %[[PAD]] : f32
func.func private @padded(%x: tensor<3xf32>, %c: tensor<f32>) -> tensor<6xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [1], high = [0], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
