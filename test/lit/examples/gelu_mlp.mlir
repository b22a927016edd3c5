// gelu MLP: each matrix product is a kernel, with its epilogue: bias and gelu (the whole error function), or the bias.
// RUN: hlo-opt --fuse --outline-kernels %S/../../../examples/gelu_mlp.mlir | filecheck %s
// RUN: hlo-opt --fuse --fuse-remarks %S/../../../examples/gelu_mlp.mlir 2>&1 >%t | filecheck %s --check-prefix=WHY
// RUN: hlo-run %S/../../../examples/gelu_mlp.mlir --compare=reference | filecheck %s --check-prefix=COMPARE

// CHECK-LABEL: func.func public @main
// CHECK-SAME:    (%[[X:[^:]*]]: {{[^,]*}}, %[[W1:[^:]*]]: {{[^,]*}}, %[[B1:[^:]*]]: {{[^,]*}}, %[[W2:[^:]*]]: {{[^,]*}}, %[[B2:[^:]*]]:
// CHECK-NEXT:    %[[H:.*]] = func.call @dot_0(%[[X]], %[[W1]], %[[B1]]) :
// CHECK-NEXT:    %[[Y:.*]] = func.call @dot_1(%[[H]], %[[W2]], %[[B2]]) :
// CHECK-NEXT:    func.return %[[Y]]
// The error function stays whole.
// CHECK:         chlo.erfc

// WHY: gelu_mlp.mlir:3:10: remark: fused hlo.dot_general with hlo.add, its epilogue: saves
// WHY: gelu_mlp.mlir:15:11: remark: not fused hlo.multiply with hlo.dot_general: would be recomputed 256x

// COMPARE: 0 {{.*}} ok
