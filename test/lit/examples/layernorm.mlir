// layernorm: mean, variance, scale and shift of a row in one row fusion.
// RUN: hlo-opt --fuse --outline-kernels %S/../../../examples/layernorm.mlir | filecheck %s
// RUN: hlo-run %S/../../../examples/layernorm.mlir --compare=reference | filecheck %s --check-prefix=COMPARE

// CHECK-LABEL: func.func public @main
// CHECK-NEXT:    %[[R:.*]] = func.call @row_fusion_0(%{{.*}}, %{{.*}}, %{{.*}}) :
// CHECK-NEXT:    func.return %[[R]]
// CHECK-LABEL: func.func private @row_fusion_0
// CHECK-SAME:    hlo.kernel = "row", hlo.row_dims = 1
// CHECK:         hlo.reduce
// CHECK:         hlo.reduce
// CHECK-NOT:     hlo.reduce
// CHECK:         hlo.rsqrt
// CHECK-NOT:   func.func

// COMPARE: 0 {{.*}} ok
