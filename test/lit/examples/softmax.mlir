// softmax over the last dimension: one row fusion, its input read once, its output written once.
// RUN: hlo-opt --fuse --outline-kernels %S/../../../examples/softmax.mlir | filecheck %s
// RUN: hlo-opt --fuse --fuse-remarks %S/../../../examples/softmax.mlir 2>&1 >%t | filecheck %s --check-prefix=WHY
// RUN: hlo-run %S/../../../examples/softmax.mlir --compare=reference | filecheck %s --check-prefix=COMPARE

// CHECK-LABEL: func.func public @main
// CHECK-SAME:    (%[[X:[^:]*]]:
// CHECK-NEXT:    %[[R:.*]] = func.call @row_fusion_0(%[[X]]) :
// CHECK-NEXT:    func.return %[[R]]
// CHECK-LABEL: func.func private @row_fusion_0
// CHECK-SAME:    hlo.kernel = "row", hlo.row_dims = 1
// CHECK:         hlo.reduce
// CHECK-SAME:      applies hlo.maximum across dimensions = [1]
// CHECK:         hlo.subtract
// CHECK:         hlo.exponential
// CHECK:         hlo.reduce
// CHECK-SAME:      applies hlo.add across dimensions = [1]
// CHECK:         hlo.divide
// CHECK-NOT:   func.func

// WHY-NOT: not fused
// WHY:     softmax.mlir:10:10: remark: fused hlo.subtract into the row fusion of hlo.exponential: saves {{.*}}
// WHY-NOT: not fused

// COMPARE: 0 {{.*}} ok
