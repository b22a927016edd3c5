// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// A window is read at strides and dilations; its loops are reductions.
// CHECK-LABEL: @pooling
// CHECK:         %[[WINDOW:.*]] = tensor.empty() : tensor<2xi1>
// CHECK:         %[[FILL:.*]] = linalg.fill
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, ((d2 * 3) + (d3 * 2)))>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %[[WINDOW]] : tensor<2x4x9xf32>, tensor<2xi1>) outs(%[[FILL]] : tensor<2x4x3xf32>)
// CHECK:           arith.maximumf
func.func private @pooling(%x: tensor<2x4x9xf32>, %i: tensor<f32>) -> tensor<2x4x3xf32> attributes {hlo.kernel = "custom"} {
  %0 = "hlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 1, 1, 2>, window_strides = array<i64: 1, 1, 3>, window_dilations = array<i64: 1, 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<2x4x9xf32>, tensor<f32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// CHECK-LABEL: @cumulative_sum
// CHECK:         linalg_ext.scan {dimension = 0 : i64, reverse = false} ins(%x, %{{.*}} : tensor<8x9xf32>, f32) outs(%{{.*}} : tensor<8x9xf32>)
// CHECK:           arith.addf
// CHECK:           linalg_ext.yield
func.func private @cumulative_sum(%x: tensor<8x9xf32>) -> tensor<8x9xf32> attributes {hlo.kernel = "custom"} {
  %i = hlo.constant dense<0.0> : tensor<f32>
  %0 = "hlo.reduce_window"(%x, %i) <{padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<8x9xf32>, tensor<f32>) -> tensor<8x9xf32>
  return %0 : tensor<8x9xf32>
}

// One of bf16 is carried in f32, and each result is rounded once.
// CHECK-LABEL: @narrow_sum
// CHECK:         arith.extf
// CHECK:         linalg_ext.scan {dimension = 0 : i64, reverse = false} ins(%{{.*}}, %{{.*}} : tensor<8xf32>, f32) outs(%{{.*}} : tensor<8xf32>)
// CHECK:           arith.addf %{{.*}}, %{{.*}} : f32
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
func.func private @narrow_sum(%x: tensor<8xbf16>) -> tensor<8xbf16> attributes {hlo.kernel = "custom"} {
  %i = hlo.constant dense<0.0> : tensor<bf16>
  %0 = "hlo.reduce_window"(%x, %i) <{padding = dense<[[7, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 8>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %m = hlo.add %a, %b : tensor<bf16>
    hlo.return %m : tensor<bf16>
  }) : (tensor<8xbf16>, tensor<bf16>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// CHECK-LABEL: @gradient_of_pooling
// CHECK:         %[[FILL:.*]] = linalg.fill
// CHECK:         linalg_ext.select_and_scatter {sizes = array<i64: 2, 3>, strides = array<i64: 2, 3>, low = array<i64: 1, 0>} ins(%x, %s : tensor<3x6xi32>, tensor<2x2xi32>) outs(%[[FILL]] : tensor<3x6xi32>)
// CHECK:           arith.cmpi sge
// CHECK:           arith.addi
func.func private @gradient_of_pooling(%x: tensor<3x6xi32>, %s: tensor<2x2xi32>) -> tensor<3x6xi32> attributes {hlo.kernel = "custom"} {
  %i = hlo.constant dense<0> : tensor<i32>
  %0 = "hlo.select_and_scatter"(%x, %s, %i) <{padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 3>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = hlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = hlo.add %a, %b : tensor<i32>
    hlo.return %m : tensor<i32>
  }) : (tensor<3x6xi32>, tensor<2x2xi32>, tensor<i32>) -> tensor<3x6xi32>
  return %0 : tensor<3x6xi32>
}
