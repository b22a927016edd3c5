// RUN: hlo-opt %s --fuse-hlo --split-input-file | filecheck %s
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo --split-input-file | filecheck %s

// The next element, or the first: the loop reads both where they are.

// CHECK-LABEL: func.func @next
// CHECK:         hlo.fusion loop (%[[X:.*]] = %x : tensor<100xf32>) -> tensor<100xf32>
// CHECK:           %[[P:.*]] = hlo.pad %[[X]]
// CHECK:           hlo.compare LT
// CHECK-NEXT:      %[[S:.*]] = hlo.select %{{.*}}, %[[P]]
// CHECK-NEXT:      hlo.add %[[X]], %[[S]]
// CHECK-NOT:     hlo.fusion
func.func @next(%x: tensor<100xf32>) -> tensor<100xf32> {
  %0 = hlo.slice %x [1:100] : (tensor<100xf32>) -> tensor<99xf32>
  %1 = hlo.slice %x [0:1] : (tensor<100xf32>) -> tensor<1xf32>
  %2 = hlo.concatenate %0, %1, dim = 0 : (tensor<99xf32>, tensor<1xf32>) -> tensor<100xf32>
  %3 = hlo.add %x, %2 : tensor<100xf32>
  func.return %3 : tensor<100xf32>
}

// -----

// Elements before the long part are those at the end of each row, two of them, and one of another tensor is after it.

// CHECK-LABEL: func.func @rows
// CHECK:         hlo.fusion loop
// CHECK-COUNT-3:   hlo.select
// CHECK:         return
// CHECK-NOT:     hlo.fusion concatenate
func.func @rows(%x: tensor<8x200xf32>, %y: tensor<8x1xf32>) -> tensor<8x200xf32> {
  %0 = hlo.slice %x [0:8, 198:200] : (tensor<8x200xf32>) -> tensor<8x2xf32>
  %1 = hlo.slice %x [0:8, 0:197] : (tensor<8x200xf32>) -> tensor<8x197xf32>
  %2 = hlo.concatenate %0, %1, %y, dim = 1 : (tensor<8x2xf32>, tensor<8x197xf32>, tensor<8x1xf32>) -> tensor<8x200xf32>
  %3 = hlo.add %x, %2 : tensor<8x200xf32>
  func.return %3 : tensor<8x200xf32>
}

// -----

// Sums, results, computed values, short rows and many elements: these stay concatenations.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-5: hlo.concatenate
// CHECK-NOT:     hlo.pad
func.func @others(%x: tensor<100xf32>, %y: tensor<8x60xf32>)
    -> (tensor<f32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<8x60xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.slice %x [1:100] : (tensor<100xf32>) -> tensor<99xf32>
  %1 = hlo.slice %x [0:1] : (tensor<100xf32>) -> tensor<1xf32>
  %2 = hlo.concatenate %0, %1, dim = 0 : (tensor<99xf32>, tensor<1xf32>) -> tensor<100xf32>
  %3 = hlo.multiply %x, %2 : tensor<100xf32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [0] : (tensor<100xf32>, tensor<f32>) -> tensor<f32>
  %5 = hlo.concatenate %1, %0, dim = 0 : (tensor<1xf32>, tensor<99xf32>) -> tensor<100xf32>
  %6 = hlo.exponential %0 : tensor<99xf32>
  %7 = hlo.concatenate %6, %1, dim = 0 : (tensor<99xf32>, tensor<1xf32>) -> tensor<100xf32>
  %8 = hlo.add %7, %x : tensor<100xf32>
  %9 = hlo.slice %x [40:100] : (tensor<100xf32>) -> tensor<60xf32>
  %10 = hlo.slice %x [0:40] : (tensor<100xf32>) -> tensor<40xf32>
  %11 = hlo.concatenate %9, %10, dim = 0 : (tensor<60xf32>, tensor<40xf32>) -> tensor<100xf32>
  %12 = hlo.add %11, %x : tensor<100xf32>
  %13 = hlo.slice %y [0:8, 1:60] : (tensor<8x60xf32>) -> tensor<8x59xf32>
  %14 = hlo.slice %y [0:8, 0:1] : (tensor<8x60xf32>) -> tensor<8x1xf32>
  %15 = hlo.concatenate %13, %14, dim = 1 : (tensor<8x59xf32>, tensor<8x1xf32>) -> tensor<8x60xf32>
  %16 = hlo.add %15, %y : tensor<8x60xf32>
  func.return %4, %5, %8, %12, %16 : tensor<f32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<8x60xf32>
}

// -----

// A broadcast before a loop is repeated in it, where elements are computed of it; a product needs it in memory.

// CHECK-LABEL: func.func @broadcasts
// CHECK-NOT:     tensor<100xf32> = %s
// CHECK:         hlo.while
// CHECK:         hlo.fusion loop ({{.*}} = %s : tensor<f32>
// CHECK:           hlo.broadcast_in_dim
func.func @broadcasts(%x: tensor<100xf32>, %s: tensor<f32>) -> tensor<100xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %b = hlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<100xf32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<100xf32>
    cond {
      %n = hlo.constant dense<10> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.multiply %v, %b : tensor<100xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %2 = hlo.add %i, %one : tensor<i32>
      hlo.return %2, %1 : tensor<i32>, tensor<100xf32>
    }
  func.return %0#1 : tensor<100xf32>
}

// -----

// A component of a field, which is a slice of memory without its first dimension, is padded where it is; the rows are a
// part of another concatenation.

// CHECK-LABEL: func.func @component
// CHECK:         hlo.fusion concatenate (%[[X:.*]] = %x : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
// CHECK:           hlo.pad %[[X]], %{{.*}}, low = [-1, 0, -1], high = [0, 0, 1]
// CHECK-NOT:     hlo.fusion
func.func @component(%x: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %0 = hlo.slice %x [1:2, 0:8, 0:64] : (tensor<2x8x64xf32>) -> tensor<1x8x64xf32>
  %1 = hlo.reshape %0 : (tensor<1x8x64xf32>) -> tensor<8x64xf32>
  %2 = hlo.slice %1 [0:8, 1:64] : (tensor<8x64xf32>) -> tensor<8x63xf32>
  %3 = hlo.slice %1 [0:8, 0:1] : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %4 = hlo.concatenate %2, %3, dim = 1 : (tensor<8x63xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  %5 = hlo.subtract %4, %1 : tensor<8x64xf32>
  %6 = hlo.reshape %5 : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
  %7 = hlo.concatenate %6, %0, dim = 0 : (tensor<1x8x64xf32>, tensor<1x8x64xf32>) -> tensor<2x8x64xf32>
  func.return %7 : tensor<2x8x64xf32>
}
