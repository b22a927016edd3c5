// RUN: hlo-opt %s --fuse-linalg | filecheck %s

// Each part is one loop that writes into its slice; an operand that needs no computation is copied there.
// CHECK-LABEL: @joined
// CHECK:         %[[P:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%x : tensor<2xf32>)
// CHECK:           %[[E:[0-9]+]] = math.exp
// CHECK-NEXT:      arith.negf %[[E]]
// CHECK:         %[[W:[0-9]+]] = tensor.empty() : tensor<5xf32>
// CHECK-NEXT:    %[[A:[0-9]+]] = tensor.insert_slice %[[P]] into %[[W]][0] [2] [1] :
// CHECK-NEXT:    tensor.insert_slice %y into %[[A]][2] [3] [1] :
func.func private @joined(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> attributes {hlo.kernel = "concatenate"} {
  %0 = tensor.empty() : tensor<2xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%0 : tensor<2xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = math.exp %1 : f32
    linalg.yield %3 : f32
  } -> tensor<2xf32>
  %4 = tensor.empty() : tensor<2xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%e : tensor<2xf32>) outs(%4 : tensor<2xf32>) {
  ^bb0(%5: f32, %6: f32):
    %7 = arith.negf %5 : f32
    linalg.yield %7 : f32
  } -> tensor<2xf32>
  %8 = tensor.empty() : tensor<5xf32>
  %9 = tensor.insert_slice %n into %8[0] [2] [1] : tensor<2xf32> into tensor<5xf32>
  %10 = tensor.insert_slice %y into %9[2] [3] [1] : tensor<3xf32> into tensor<5xf32>
  func.return %10 : tensor<5xf32>
}
