// gelu MLP: each matrix product is a kernel; bias and gelu (the whole error function) are one loop fusion, the second
// bias another.
// RUN: hlo-opt --fuse --outline-kernels %S/../../../examples/gelu_mlp.mlir | filecheck %s
// RUN: hlo-opt --fuse --fuse-remarks %S/../../../examples/gelu_mlp.mlir 2>&1 >%t | filecheck %s --check-prefix=WHY
// RUN: hlo-run %S/../../../examples/gelu_mlp.mlir --compare=reference | filecheck %s --check-prefix=COMPARE

// CHECK-LABEL: func.func public @main
// CHECK-SAME:    (%[[X:[^:]*]]: {{[^,]*}}, %[[W1:[^:]*]]: {{[^,]*}}, %[[B1:[^:]*]]: {{[^,]*}}, %[[W2:[^:]*]]: {{[^,]*}}, %[[B2:[^:]*]]:
// CHECK-NEXT:    %[[H:.*]] = func.call @dot_0(%[[X]], %[[W1]]) :
// CHECK-NEXT:    %[[G:.*]] = func.call @loop_fusion_0(%[[B1]], %[[H]]) :
// CHECK-NEXT:    %[[Y:.*]] = func.call @dot_1(%[[G]], %[[W2]]) :
// CHECK-NEXT:    %[[R:.*]] = func.call @loop_fusion_1(%[[B2]], %[[Y]]) :
// CHECK-NEXT:    func.return %[[R]]
// CHECK-NOT:   chlo

// WHY: gelu_mlp.mlir:3:10: remark: not fused hlo.dot_general with hlo.add: hlo.dot_general is a kernel of its own
// WHY: gelu_mlp.mlir:15:11: remark: not fused hlo.multiply with hlo.dot_general: would be recomputed 256x

// COMPARE: 0 {{.*}} ok
