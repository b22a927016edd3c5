// mean(3x^2 + y): one kernel, its reduction and the division included.
// RUN: hlo-opt --fuse --outline-kernels %S/../../../examples/running_example.mlir | filecheck %s
// RUN: hlo-opt --fuse --lower=linalg %S/../../../examples/running_example.mlir | filecheck %s --check-prefix=LINALG
// RUN: hlo-run %S/../../../examples/running_example.mlir --compare=reference | filecheck %s --check-prefix=COMPARE

// CHECK-LABEL: func.func public @main
// CHECK-NEXT:    %[[R:.*]] = func.call @reduce_fusion_0(%{{.*}}, %{{.*}}) :
// CHECK-NEXT:    func.return %[[R]] : tensor<f32>
// CHECK-LABEL: func.func private @reduce_fusion_0
// CHECK-SAME:    hlo.kernel = "reduce"
// CHECK:         hlo.multiply
// CHECK:         hlo.multiply
// CHECK:         %[[SUM:.*]] = hlo.add
// CHECK:         hlo.reduce(%[[SUM]] init:
// CHECK-SAME:      applies hlo.add across dimensions = [0]
// CHECK:         hlo.divide
// CHECK:         func.return
// CHECK-NOT:   func.func

// The loop that reduces computes its operand on the way; the division is a loop of one iteration.
// LINALG-LABEL: func.func private @reduce_fusion_0
// LINALG:         linalg.generic
// LINALG-SAME:      iterator_types = ["reduction"]
// LINALG:           arith.mulf
// LINALG:           arith.mulf
// LINALG:           arith.addf
// LINALG:           arith.addf {{.*}}fastmath<reassoc>
// LINALG:         linalg.generic
// LINALG-SAME:      iterator_types = []
// LINALG:           arith.divf
// LINALG-NOT:     linalg.generic

// COMPARE: 0 {{.*}} ok
