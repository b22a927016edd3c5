// RUN: hlo-opt %s --convert-hlo-to-linalg --fuse-linalg | filecheck %s

// Each part is one loop, whose result goes into its slice; an operand that is nothing to compute is copied there.
// CHECK-LABEL: @joined
// CHECK:         %[[P:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%x : tensor<2xf32>)
// CHECK:           %[[E:[0-9]+]] = math.exp
// CHECK-NEXT:      arith.negf %[[E]]
// CHECK:         %[[W:[0-9]+]] = tensor.empty() : tensor<5xf32>
// CHECK-NEXT:    %[[A:[0-9]+]] = tensor.insert_slice %[[P]] into %[[W]][0] [2] [1] :
// CHECK-NEXT:    tensor.insert_slice %y into %[[A]][2] [3] [1] :
func.func private @joined(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> attributes {hlo.kernel = "concatenate"} {
  %e = hlo.exponential %x : tensor<2xf32>
  %n = hlo.negate %e : tensor<2xf32>
  %0 = hlo.concatenate %n, %y, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
