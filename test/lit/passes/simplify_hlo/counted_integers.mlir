// RUN: hlo-opt %s --simplify-hlo --split-input-file | filecheck %s

// Distances of indices fit in 32 bits, which vectors convert to floats.

// CHECK-LABEL: func.func @distances
// CHECK-DAG: %[[I:.*]] = hlo.iota dim = 0 : tensor<512x512xi32>
// CHECK-DAG: %[[J:.*]] = hlo.iota dim = 1 : tensor<512x512xi32>
// CHECK: %[[D:.*]] = hlo.subtract %[[I]], %[[J]] : tensor<512x512xi32>
// CHECK: %[[A:.*]] = hlo.abs %[[D]] : tensor<512x512xi32>
// CHECK: %[[N:.*]] = hlo.negate %[[A]] : tensor<512x512xi32>
// CHECK: %[[F:.*]] = hlo.convert %[[N]] : (tensor<512x512xi32>) -> tensor<512x512xf32>
// CHECK: func.return %[[F]]
func.func @distances() -> tensor<512x512xf32> {
  %0 = hlo.iota dim = 0 : tensor<512x512xi64>
  %1 = hlo.iota dim = 1 : tensor<512x512xi64>
  %2 = hlo.subtract %0, %1 : tensor<512x512xi64>
  %3 = hlo.abs %2 : tensor<512x512xi64>
  %4 = hlo.negate %3 : tensor<512x512xi64>
  %5 = hlo.convert %4 : (tensor<512x512xi64>) -> tensor<512x512xf32>
  return %5 : tensor<512x512xf32>
}

// -----

// CHECK-LABEL: func.func @triangle
// CHECK: hlo.compare GE, %{{.*}}, %{{.*}} : (tensor<512x512xi32>, tensor<512x512xi32>) -> tensor<512x512xi1>
func.func @triangle() -> tensor<512x512xi1> {
  %0 = hlo.iota dim = 0 : tensor<512x512xi64>
  %1 = hlo.iota dim = 1 : tensor<512x512xi64>
  %2 = hlo.constant dense<3> : tensor<512x512xi64>
  %3 = hlo.add %0, %2 : tensor<512x512xi64>
  %4 = hlo.compare GE, %3, %1 : (tensor<512x512xi64>, tensor<512x512xi64>) -> tensor<512x512xi1>
  return %4 : tensor<512x512xi1>
}

// -----

// Neither numbers that may be larger, on the way as well, nor those of arguments.

// CHECK-LABEL: func.func @large
// CHECK-NOT: i32
func.func @large(%x: tensor<512xi64>) -> (tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) {
  %0 = hlo.iota dim = 0 : tensor<512xi64>
  %1 = hlo.constant dense<4202513> : tensor<512xi64>
  %2 = hlo.multiply %0, %1 : tensor<512xi64>
  %3 = hlo.convert %2 : (tensor<512xi64>) -> tensor<512xf32>
  %4 = hlo.constant dense<100> : tensor<512xi64>
  %5 = hlo.minimum %2, %4 : tensor<512xi64>
  %6 = hlo.convert %5 : (tensor<512xi64>) -> tensor<512xf32>
  %7 = hlo.add %0, %x : tensor<512xi64>
  %8 = hlo.convert %7 : (tensor<512xi64>) -> tensor<512xf32>
  return %3, %6, %8 : tensor<512xf32>, tensor<512xf32>, tensor<512xf32>
}
