// One step of training: two matrix products forward, three backward, and at most five other kernels. Every buffer
// between kernels has a reason.
// RUN: hlo-opt --fuse --outline-kernels %S/../../../examples/mlp_training_step.mlir | filecheck %s
// RUN: hlo-opt --fuse --outline-kernels %S/../../../examples/mlp_training_step.mlir | filecheck %s --check-prefix=DOTS
// RUN: hlo-opt --fuse --outline-kernels %S/../../../examples/mlp_training_step.mlir | grep -c hlo.kernel | filecheck %s --check-prefix=COUNT
// RUN: hlo-opt --fuse --fuse-remarks %S/../../../examples/mlp_training_step.mlir 2>&1 >%t | filecheck %s --check-prefix=WHY
// RUN: hlo-run %S/../../../examples/mlp_training_step.mlir --compare=reference | filecheck %s --check-prefix=COMPARE

// The first layer with its bias and relu, which its gradient reads; one-hot, log-softmax and the loss of a row together.
// CHECK-LABEL: func.func public @main
// CHECK:         func.call @dot_0
// CHECK:         func.call @row_fusion_0
// CHECK-LABEL: func.func private @dot_0
// CHECK:         hlo.dot_general
// CHECK:         hlo.broadcast_in_dim
// CHECK:         hlo.add
// CHECK:         hlo.maximum
// CHECK-LABEL: func.func private @row_fusion_0
// CHECK:         hlo.compare
// CHECK:         applies hlo.maximum
// CHECK:         hlo.exponential
// CHECK:         applies hlo.add
// CHECK:         hlo.log
// CHECK:       func.func

// DOTS-COUNT-5: hlo.kernel = "dot"
// DOTS-NOT: hlo.kernel = "dot"

// COUNT: {{^([1-9]|10)$}}

// WHY: mlp_training_step.mlir:72:10: remark: not fused hlo.maximum with hlo.dot_general: would be recomputed 10x

// COMPARE:      0 {{.*}} ok
// COMPARE-NEXT: 1 {{.*}} ok
// COMPARE-NEXT: 2 {{.*}} ok
// COMPARE-NEXT: 3 {{.*}} ok
// COMPARE-NEXT: 4 {{.*}} ok
