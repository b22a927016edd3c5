// RUN: hlo-opt %s --inline --max-memory=16M | filecheck %s
// RUN: not hlo-opt %s --inline --max-memory=8M 2>&1 | filecheck %s --check-prefix=REFUSED

// Functions that call each other several times grow with each level: what would not fit in memory is refused at a call,
// before any is inlined.

// CHECK-COUNT-1024: hlo.sine

// REFUSED: inline_sizes.mlir:15:8: error: 'func.call' op needs 9.996 MiB of memory, more than the limit of 8 MiB (XHLO_MAX_MEMORY sets it): @f1 has 5118 operations when its calls are inlined
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f1(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @f1(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f2(%x) : (tensor<f32>) -> tensor<f32>
  %1 = func.call @f2(%0) : (tensor<f32>) -> tensor<f32>
  %2 = func.call @f2(%1) : (tensor<f32>) -> tensor<f32>
  %3 = func.call @f2(%2) : (tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
func.func private @f2(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f3(%x) : (tensor<f32>) -> tensor<f32>
  %1 = func.call @f3(%0) : (tensor<f32>) -> tensor<f32>
  %2 = func.call @f3(%1) : (tensor<f32>) -> tensor<f32>
  %3 = func.call @f3(%2) : (tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
func.func private @f3(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f4(%x) : (tensor<f32>) -> tensor<f32>
  %1 = func.call @f4(%0) : (tensor<f32>) -> tensor<f32>
  %2 = func.call @f4(%1) : (tensor<f32>) -> tensor<f32>
  %3 = func.call @f4(%2) : (tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
func.func private @f4(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f5(%x) : (tensor<f32>) -> tensor<f32>
  %1 = func.call @f5(%0) : (tensor<f32>) -> tensor<f32>
  %2 = func.call @f5(%1) : (tensor<f32>) -> tensor<f32>
  %3 = func.call @f5(%2) : (tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
func.func private @f5(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f6(%x) : (tensor<f32>) -> tensor<f32>
  %1 = func.call @f6(%0) : (tensor<f32>) -> tensor<f32>
  %2 = func.call @f6(%1) : (tensor<f32>) -> tensor<f32>
  %3 = func.call @f6(%2) : (tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
func.func private @f6(%x: tensor<f32>) -> tensor<f32> {
  %0 = hlo.sine %x : tensor<f32>
  return %0 : tensor<f32>
}
