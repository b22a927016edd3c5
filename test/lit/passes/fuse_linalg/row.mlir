// RUN: hlo-opt %s --fuse-linalg | filecheck %s

// An expensive value that two loops need is computed once and kept for the row.
// CHECK-LABEL: @expensive
// CHECK:         %[[E:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%x : tensor<3x4xf32>)
// CHECK:           math.exp
// CHECK:         %[[S:[a-z0-9_]+]] = linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[E]] :
// CHECK-SAME:    xhlo.loop_sizes = array<i64: 3, 4>
// CHECK:         linalg.generic {{.*}} ins(%[[S]], %[[E]] :
// CHECK-NOT:       math.exp
// CHECK:           arith.divf
func.func private @expensive(%x: tensor<3x4xf32>, %z: tensor<f32>) -> tensor<3x4xf32> attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %0 = tensor.empty() : tensor<3x4xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = math.exp %1 : f32
    linalg.yield %3 : f32
  } -> tensor<3x4xf32>
  %4 = tensor.extract %z[] : tensor<f32>
  %5 = tensor.empty() : tensor<3xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<3xf32>) -> tensor<3xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<3x4xf32>) outs(%6 : tensor<3xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.addf %8, %7 fastmath<reassoc> : f32
    linalg.yield %9 : f32
  } -> tensor<3xf32>
  %10 = tensor.empty() : tensor<3x4xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<3xf32>) outs(%10 : tensor<3x4xf32>) {
  ^bb0(%11: f32, %12: f32):
    linalg.yield %11 : f32
  } -> tensor<3x4xf32>
  %13 = tensor.empty() : tensor<3x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%e, %b : tensor<3x4xf32>, tensor<3x4xf32>) outs(%13 : tensor<3x4xf32>) {
  ^bb0(%14: f32, %15: f32, %16: f32):
    %17 = arith.divf %14, %15 : f32
    linalg.yield %17 : f32
  } -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// A cheap value is computed in both: no third loop, no memory.
// CHECK-LABEL: @cheap
// CHECK:         %[[S:[a-z0-9_]+]] = linalg.generic {{.*}}["parallel", "reduction"]} ins(%x :
// CHECK:           %[[D:[0-9]+]] = arith.addf %[[X:[0-9]+]], %[[X]] : f32
// CHECK-NEXT:      arith.addf %{{[0-9]+}}, %[[D]] fastmath<reassoc> : f32
// CHECK:         linalg.generic {{.*}} ins(%x, %[[S]] :
// CHECK:           %[[D:[0-9]+]] = arith.addf %[[X:[0-9]+]], %[[X]] : f32
// CHECK-NEXT:      arith.subf %[[D]],
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func private @cheap(%x: tensor<3x4xf32>, %z: tensor<f32>) -> tensor<3x4xf32> attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %0 = tensor.empty() : tensor<3x4xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %x : tensor<3x4xf32>, tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.addf %1, %2 : f32
    linalg.yield %4 : f32
  } -> tensor<3x4xf32>
  %5 = tensor.extract %z[] : tensor<f32>
  %6 = tensor.empty() : tensor<3xf32>
  %7 = linalg.fill ins(%5 : f32) outs(%6 : tensor<3xf32>) -> tensor<3xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<3x4xf32>) outs(%7 : tensor<3xf32>) {
  ^bb0(%8: f32, %9: f32):
    %10 = arith.addf %9, %8 fastmath<reassoc> : f32
    linalg.yield %10 : f32
  } -> tensor<3xf32>
  %11 = tensor.empty() : tensor<3x4xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<3xf32>) outs(%11 : tensor<3x4xf32>) {
  ^bb0(%12: f32, %13: f32):
    linalg.yield %12 : f32
  } -> tensor<3x4xf32>
  %14 = tensor.empty() : tensor<3x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%e, %b : tensor<3x4xf32>, tensor<3x4xf32>) outs(%14 : tensor<3x4xf32>) {
  ^bb0(%15: f32, %16: f32, %17: f32):
    %18 = arith.subf %15, %16 : f32
    linalg.yield %18 : f32
  } -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}
