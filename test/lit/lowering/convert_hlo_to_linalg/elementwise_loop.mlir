// RUN: hlo-opt %s --convert-hlo-to-linalg --split-input-file --verify-diagnostics | filecheck %s

// In a kernel a loop over tensors becomes a generic that loops for each element; that any element goes on becomes that
// this one does.

// CHECK-LABEL: func.func private @loop
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<f32>)
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>]
// CHECK-SAME: ins(%[[X]], %[[B]] : tensor<8xf32>, tensor<f32>)
// CHECK-NEXT: ^{{.*}}(%[[ELEMENT:.*]]: f32, %[[STEP:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[R:.*]] = scf.while (%[[V:.*]] = %[[ELEMENT]]) : (f32) -> f32 {
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.0
// CHECK-NEXT: %[[GO:.*]] = arith.cmpf olt, %[[V]], %[[ONE]] : f32
// CHECK: scf.condition(%[[GO]]) %[[V]] : f32
// CHECK: %[[SUM:.*]] = arith.addf %[[W:.*]], %[[STEP]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.select %{{.*}}, %[[SUM]], %[[W]]
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: linalg.yield %[[R]] : f32
func.func private @loop(%x: tensor<8xf32>, %b: tensor<f32>) -> tensor<8xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.while(%v = %x) : tensor<8xf32>
    cond {
      %one = hlo.constant dense<1.0> : tensor<8xf32>
      %go = hlo.compare LT, %v, %one : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
      %false = hlo.constant dense<false> : tensor<i1>
      %any = hlo.reduce(%go init: %false) applies hlo.or across dimensions = [0] : (tensor<8xi1>, tensor<i1>) -> tensor<i1>
      hlo.return %any : tensor<i1>
    } do {
      %one = hlo.constant dense<1.0> : tensor<8xf32>
      %go = hlo.compare LT, %v, %one : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
      %step = hlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<8xf32>
      %1 = hlo.add %v, %step : tensor<8xf32>
      %2 = hlo.select %go, %1, %v : tensor<8xi1>, tensor<8xf32>
      hlo.return %2 : tensor<8xf32>
    }
  func.return %0 : tensor<8xf32>
}

// -----

func.func private @reverses(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "loop"} {
  %true = hlo.constant dense<true> : tensor<i1>
  // expected-error@+1 {{'hlo.while' op cannot be a part of a kernel: hlo.reverse is not elementwise}}
  %0 = hlo.while(%v = %x) : tensor<8xf32>
    cond {
      hlo.return %true : tensor<i1>
    } do {
      %1 = hlo.reverse %v, dims = [0] : tensor<8xf32>
      hlo.return %1 : tensor<8xf32>
    }
  func.return %0 : tensor<8xf32>
}
