// RUN: hlo-opt %s --print-generic | filecheck %s --check-prefix=GENERIC
// RUN: hlo-opt %s --print-locations | filecheck %s --check-prefix=LOCATIONS
// RUN: hlo-opt %s --stablehlo | filecheck %s --check-prefix=STABLEHLO
// RUN: hlo-opt %s --elide-large-constants=4 | filecheck %s --check-prefix=ELIDED
// RUN: hlo-opt %s --elide-large-constants | filecheck %s --check-prefix=WHOLE
// RUN: hlo-opt %s --no-fast-reader | filecheck %s --check-prefix=WHOLE
// RUN: hlo-opt %s | hlo-opt | filecheck %s --check-prefix=WHOLE

// GENERIC:    "hlo.add"(%{{.*}}, %{{.*}}) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
// LOCATIONS:  hlo.add {{.*}} loc(#[[PLACE:.*]])
// LOCATIONS:  #[[PLACE]] = loc("here.py":3:4)
// STABLEHLO:  stablehlo.constant
// STABLEHLO:  stablehlo.add
// ELIDED:     hlo.constant dense_resource<__elided__> : tensor<5xf32>
// WHOLE:      hlo.constant dense<[1.{{0+e\+00}}, 2.
// WHOLE:      hlo.add
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c = hlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %0 = hlo.add %x, %c : tensor<5xf32> loc("here.py":3:4)
  return %0 : tensor<5xf32>
}
