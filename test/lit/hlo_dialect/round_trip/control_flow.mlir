// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @nested_while
// CHECK-SAME:    (%[[P:.*]]: tensor<i1>, %[[N:.*]]: tensor<i32>, %[[X:.*]]: tensor<4xf32>)
func.func @nested_while(%p: tensor<i1>, %n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      hlo.while(%[[I:.*]] = %[[N]], %[[A:.*]] = %[[X]]) : tensor<i32>, tensor<4xf32>
  // CHECK-NEXT: cond {
  // CHECK-NEXT:   hlo.return %[[P]] : tensor<i1>
  // CHECK-NEXT: } do {
  // CHECK-NEXT:   hlo.while(%[[B:.*]] = %[[A]]) : tensor<4xf32> attributes {mhlo.note = "inner"}
  // CHECK-NEXT:   cond {
  // CHECK-NEXT:     hlo.return %[[P]] : tensor<i1>
  // CHECK-NEXT:   } do {
  // CHECK-NEXT:     hlo.return %[[B]] : tensor<4xf32>
  // CHECK-NEXT:   }
  // CHECK-NEXT:   hlo.return %[[I]], %{{.*}} : tensor<i32>, tensor<4xf32>
  %0:2 = stablehlo.while(%iterArg = %n, %iterArg_0 = %x) : tensor<i32>, tensor<4xf32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %1 = stablehlo.while(%iterArg_1 = %iterArg_0) : tensor<4xf32> attributes {mhlo.note = "inner"}
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      stablehlo.return %iterArg_1 : tensor<4xf32>
    }
    stablehlo.return %iterArg, %1 : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @branches
func.func @branches(%p: tensor<i1>, %n: tensor<i32>, %x: tensor<4xf32>) {
  // CHECK:      "hlo.if"(%{{.*}}) ({
  // CHECK-NEXT:   hlo.return %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: }, {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %1 = stablehlo.add %x, %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  // CHECK:      "hlo.case"(%{{.*}}) ({
  // CHECK-NEXT:   hlo.return
  // CHECK-NEXT: }) : (tensor<i32>) -> ()
  "stablehlo.case"(%n) ({
    stablehlo.return
  }) : (tensor<i32>) -> ()
  // CHECK: hlo.optimization_barrier %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<i32>
  %2:2 = stablehlo.optimization_barrier %x, %n : tensor<4xf32>, tensor<i32>
  // CHECK: hlo.optimization_barrier()
  stablehlo.optimization_barrier()
  return
}
