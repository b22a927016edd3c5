// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// Forms that StableHLO's reader and verifier take, beyond its specification.

// CHECK: builtin.module attributes {a.dot = #hlo.dot<lhs_contracting_dimensions = [1]>, a.gather = #hlo.gather<{{.*}}index_vector_dim = 1>}
module attributes {
  a.dot = #stablehlo.dot<lhs_contracting_dimensions = [1],>,
  a.gather = #stablehlo.gather<offset_dims = [0], index_vector_dim = 1,>
} {
  // CHECK: func.func @bounds(%a: tensor<?x3xf32, #hlo.bounds<4, ?>>, %b: tensor<?xf32, #hlo.bounds<4>>)
  func.func @bounds(%a: tensor<?x3xf32, #stablehlo.type_extensions<bounds = [4, ?]>>, %b: tensor<?xf32, #mhlo.bounds<4>>) {
    return
  }

  // CHECK-LABEL: func.func @constants
  func.func @constants() {
    // CHECK-NEXT: hlo.constant dense<-128> : tensor<i32>
    %0 = stablehlo.constant() {value = dense<-128> : tensor<i32>} : () -> tensor<i32>
    // CHECK-NEXT: hlo.constant {mine} dense<1> : tensor<i32>
    %1 = stablehlo.constant() <{value = dense<1> : tensor<i32>}> {mine} : () -> tensor<i32>
    // CHECK-NEXT: hlo.constant() <{value = dense<[1, 2]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<u8:f32, 0.5>>
    %2 = stablehlo.constant() <{value = dense<[1, 2]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<ui8:f32, 0.5>>
    return
  }

  // CHECK-LABEL: func.func @types_that_differ
  func.func @types_that_differ(%a: tensor<3xf32>) -> tensor<?xf32> {
    // CHECK-NEXT: "hlo.while"(%a) ({
    // CHECK-NEXT: ^{{.*}}(%x: tensor<?xf32>):
    // CHECK: }) : (tensor<3xf32>) -> tensor<?xf32>
    %0 = "stablehlo.while"(%a) ({
    ^bb0(%x: tensor<?xf32>):
      %c = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    }, {
    ^bb0(%x: tensor<?xf32>):
      stablehlo.return %x : tensor<?xf32>
    }) : (tensor<3xf32>) -> tensor<?xf32>
    // CHECK: "hlo.optimization_barrier"(%a) : (tensor<3xf32>) -> tensor<?xf32>
    %1 = "stablehlo.optimization_barrier"(%a) : (tensor<3xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  }

  // CHECK-LABEL: func.func @accumulators_with_dimensions
  func.func @accumulators_with_dimensions(%a: tensor<8x?xf32>, %i: tensor<4xf32>) {
    // CHECK-NEXT: hlo.reduce(%a init: %i) across dimensions = [0]
    // CHECK-NEXT: reducer(%x: tensor<4xf32>, %y: tensor<4xf32>)
    %0 = stablehlo.reduce(%a init: %i) across dimensions = [0] : (tensor<8x?xf32>, tensor<4xf32>) -> tensor<?xf32>
      reducer(%x: tensor<4xf32>, %y: tensor<4xf32>) {
      %1 = stablehlo.add %x, %y : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }
    return
  }

  // CHECK-LABEL: func.func @casts
  func.func @casts(%a: tensor<2xindex>, %i: index) {
    // CHECK-NEXT: arith.index_cast %a : tensor<2xindex> to tensor<2xi32>
    %0 = arith.index_cast %a : tensor<2xindex> to tensor<2xi32>
    // CHECK-NEXT: arith.index_cast %i : index to i64
    %1 = arith.index_cast %i : index to i64
    return
  }

  // CHECK-LABEL: func.func @unranked
  func.func @unranked(%a: tensor<*xf32>, %b: tensor<2x3xf32>) {
    // CHECK-NEXT: chlo.top_k(%a, k = 8) : tensor<*xf32> -> (tensor<*xf32>, tensor<*xi32>)
    %0:2 = chlo.top_k(%a, k=8) : tensor<*xf32> -> (tensor<*xf32>, tensor<*xi32>)
    // CHECK-NEXT: chlo.broadcast_add %b, %b {broadcast_dimensions = array<i64: 1>}
    %1 = chlo.broadcast_add %b, %b {broadcast_dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK-NEXT: hlo.all_gather
    %2 = "stablehlo.all_gather"(%b) {all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @elsewhere, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
    return
  }

  // CHECK-LABEL: func.func @any_rank
  func.func @any_rank(%a: tensor<*xf32>, %b: tensor<2x3xf32>, %c: tensor<*x!quant.uniform<i8:f32, 0.5>>) {
    // CHECK-NEXT: chlo.tan %a : tensor<*xf32> -> tensor<*xf32>
    %0 = chlo.tan %a : tensor<*xf32> -> tensor<*xf32>
    // CHECK-NEXT: chlo.broadcast_multiply %a, %b {broadcast_dimensions = array<i64: 0, 1>} : (tensor<*xf32>, tensor<2x3xf32>) -> tensor<*xf32>
    %1 = chlo.broadcast_multiply %a, %b {broadcast_dimensions = array<i64: 0, 1>} : (tensor<*xf32>, tensor<2x3xf32>) -> tensor<*xf32>
    // CHECK-NEXT: chlo.broadcast_add %b, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>
    %2 = chlo.broadcast_add %b, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>
    // CHECK-NEXT: chlo.broadcast_compare %a, %b {{.*}} : (tensor<*xf32>, tensor<2x3xf32>) -> tensor<*xi1>
    %3 = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction LT>} : (tensor<*xf32>, tensor<2x3xf32>) -> tensor<*xi1>
    // CHECK-NEXT: "chlo.constant_like"(%a) <{value = 2.{{.*}} : f32}> : (tensor<*xf32>) -> tensor<*xf32>
    %4 = "chlo.constant_like"(%a) {value = 2.0 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    // CHECK-NEXT: chlo.broadcast_maximum %c, %c
    %5 = chlo.broadcast_maximum %c, %c : (tensor<*x!quant.uniform<i8:f32, 0.5>>, tensor<*x!quant.uniform<i8:f32, 0.5>>) -> tensor<*x!quant.uniform<i8:f32, 0.5>>
    // CHECK-NEXT: hlo.custom_call @f(%a) : (tensor<*xf32>) -> tensor<*xf32>
    %6 = stablehlo.custom_call @f(%a) : (tensor<*xf32>) -> tensor<*xf32>
    return
  }

  // CHECK-LABEL: func.func @encodings(
  // CHECK-SAME: %s: tensor<f32, #hlo.bounds<>>, %a: tensor<4x4xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>
  func.func @encodings(%s: tensor<f32, #stablehlo.bounds<>>, %a: tensor<4x4xf32, #sparse_tensor.encoding<{
      map = (d0, d1) ->
        (d0 : dense, d1 : compressed)
  }>>) -> tensor<4x4xf32> {
    // CHECK-NEXT: hlo.abs %a : (tensor<4x4xf32, #sparse_tensor.encoding<{ map = {{.*}} }>>) -> tensor<4x4xf32>
    %0 = stablehlo.abs %a : (tensor<4x4xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
