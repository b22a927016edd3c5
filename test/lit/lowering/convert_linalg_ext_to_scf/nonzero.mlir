// RUN: hlo-opt %s --convert-linalg-ext-to-scf | filecheck %s

// A block's true elements are counted. If there is room behind them, places are stored without a branch.
// CHECK-LABEL: @nonzero
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             arith.extui {{.*}} : i1 to i8
// CHECK:           scf.if
// CHECK:             scf.if
// CHECK:               scf.for
// CHECK:                 memref.store %{{.*}}, %places
// CHECK:             } else {
// CHECK:               scf.while
// CHECK:         scf.for
// CHECK:           memref.store %{{.*}}, %places
// CHECK-NOT:     scf.parallel
func.func private @nonzero(%mask: memref<200xi1>, %places: memref<50xi32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.nonzero ins(%mask : memref<200xi1>) outs(%places : memref<50xi32>)
  return
}

// Tasks count the elements of their parts, and then store places behind those of the parts before.
// CHECK-LABEL: @tasks
// CHECK:         %[[COUNTS:.*]] = memref.alloc() : memref<[[TASKS:.*]]xi64>
// CHECK:         "scf.parallel"
// CHECK:           memref.store %{{.*}}, %[[COUNTS]]
// CHECK:         "scf.parallel"
// CHECK:           memref.load %[[COUNTS]]
// CHECK:           memref.store %{{.*}}, %places
func.func private @tasks(%mask: memref<1000000xi1>, %places: memref<50xi32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.nonzero ins(%mask : memref<1000000xi1>) outs(%places : memref<50xi32>)
  return
}
