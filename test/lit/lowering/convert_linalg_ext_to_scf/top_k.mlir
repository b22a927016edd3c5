// RUN: hlo-opt %s --fuse --lower=loops --split-input-file | filecheck %s

// The candidates of the segments of a long row are brought together, a vector at a time, before the last selection,
// which is that of too many candidates.
// CHECK-LABEL: func.func private @call_xhlo.top_k_0(
// CHECK:         cpu.parallel_for
// CHECK-NEXT:    func.call @{{.*}}_together(
// CHECK-NEXT:    func.call @{{.*}}_keep_first(
// CHECK-NEXT:    func.call @{{.*}}_sort(
// CHECK-NEXT:    func.call @{{.*}}_write(
// CHECK-LABEL: func.func private @{{.*}}_together(
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             vector.load
// CHECK-NEXT:        vector.store
// CHECK:             vector.load
// CHECK-NEXT:        vector.store
// CHECK-NOT:     memref.load
// CHECK:         func.return
func.func @main(%x: tensor<70000xf32>) -> (tensor<30xf32>, tensor<30xi32>) {
  %v, %i = chlo.top_k(%x, k = 30) : tensor<70000xf32> -> (tensor<30xf32>, tensor<30xi32>)
  func.return %v, %i : tensor<30xf32>, tensor<30xi32>
}

// -----

// Functions are written in vectors, and their loops over single elements stay so. None depends on the number of elements
// that are wanted. The least keys of groups stay in registers; one comparison shows whether a block has candidates, which
// the bits of an integer name then. Each bit of the threshold needs a loop over all keys.
// CHECK-LABEL: func.func private @{{.*}}top_k{{.*}}_sort(
// CHECK:         func.call @{{.*}}_rank(
// CHECK:         scf.for
// CHECK:         } {xhlo.vectorize = false}
// CHECK-LABEL: func.func private @{{.*}}top_k{{.*}}_keep_first(
// CHECK:         func.call @{{.*}}_threshold(
// CHECK:         scf.for
// CHECK:         } {xhlo.vectorize = false}
// CHECK-LABEL: func.func private @{{.*}}_threshold(
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             arith.cmpi uge
// CHECK:           vector.reduction <add>
// CHECK-LABEL: func.func private @{{.*}}top_k{{.*}}_select(
// CHECK:         scf.for
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             arith.minui
// CHECK:         func.call @{{.*}}_threshold(
// CHECK:         scf.for
// CHECK:           arith.minui
// CHECK:           arith.cmpi ult
// CHECK:           scf.if
// CHECK:             math.ctpop
// CHECK:             scf.for
// CHECK:               math.cttz
func.func @main(%x: tensor<70000xf32>) -> (tensor<9xf32>, tensor<9xi32>) {
  %v, %i = chlo.top_k(%x, k = 9) : tensor<70000xf32> -> (tensor<9xf32>, tensor<9xi32>)
  func.return %v, %i : tensor<9xf32>, tensor<9xi32>
}
