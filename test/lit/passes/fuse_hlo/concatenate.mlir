// RUN: hlo-opt %s --fuse-hlo | filecheck %s

// A concatenation that is only a part of another writes to its place in that, with what computes its own parts.
// CHECK-LABEL: @nested
// CHECK-NEXT:    %[[F:[0-9]+]] = hlo.fusion concatenate (%{{.*}} = %x : tensor<6x8xf32>, %{{.*}} = %y : tensor<6x1xf32>, %{{.*}} = %z : tensor<1x9xf32>) -> tensor<7x9xf32> {
// CHECK:           hlo.exponential
// CHECK-NEXT:      hlo.concatenate {{.*}} dim = 1
// CHECK-NEXT:      hlo.concatenate {{.*}} dim = 0
// CHECK:         func.return %[[F]]
func.func @nested(%x: tensor<6x8xf32>, %y: tensor<6x1xf32>, %z: tensor<1x9xf32>) -> tensor<7x9xf32> {
  %0 = hlo.exponential %x : tensor<6x8xf32>
  %1 = hlo.concatenate %y, %0, dim = 1 : (tensor<6x1xf32>, tensor<6x8xf32>) -> tensor<6x9xf32>
  %2 = hlo.concatenate %1, %z, dim = 0 : (tensor<6x9xf32>, tensor<1x9xf32>) -> tensor<7x9xf32>
  func.return %2 : tensor<7x9xf32>
}

// Not one that is needed elsewhere too, or twice.
// CHECK-LABEL: @twice
// CHECK:         hlo.fusion concatenate
// CHECK:         hlo.fusion concatenate
func.func @twice(%x: tensor<6x8xf32>, %y: tensor<6x1xf32>) -> tensor<12x9xf32> {
  %0 = hlo.concatenate %y, %x, dim = 1 : (tensor<6x1xf32>, tensor<6x8xf32>) -> tensor<6x9xf32>
  %1 = hlo.concatenate %0, %0, dim = 0 : (tensor<6x9xf32>, tensor<6x9xf32>) -> tensor<12x9xf32>
  func.return %1 : tensor<12x9xf32>
}

// A short part beside a long one: what alone reads the concatenation is computed of both, in one kernel.
// CHECK-LABEL: @short_part
// CHECK-NEXT:    %[[F:[0-9]+]] = hlo.fusion concatenate
// CHECK:           hlo.compare
// CHECK:           hlo.compare
// CHECK:           hlo.concatenate {{.*}} -> tensor<20001xi1>
// CHECK:         func.return %[[F]]
func.func @short_part(%x: tensor<1xf32>, %y: tensor<20000xf32>) -> tensor<20001xi1> {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<1xf32>, tensor<20000xf32>) -> tensor<20001xf32>
  %one = hlo.constant dense<1.0> : tensor<20001xf32>
  %1 = hlo.compare GT, %0, %one : (tensor<20001xf32>, tensor<20001xf32>) -> tensor<20001xi1>
  func.return %1 : tensor<20001xi1>
}

// Two neighbours on a grid by rolls: one loop reads both, rather than parts of each.
// CHECK-LABEL: @neighbours
// CHECK:           hlo.add {{.*}} : tensor<128x1024xf32>
// CHECK-NOT:       hlo.add
// CHECK:         func.return
func.func @neighbours(%u: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %0 = hlo.slice %u [127:128, 0:1024] : (tensor<128x1024xf32>) -> tensor<1x1024xf32>
  %1 = hlo.slice %u [0:127, 0:1024] : (tensor<128x1024xf32>) -> tensor<127x1024xf32>
  %2 = hlo.concatenate %0, %1, dim = 0 : (tensor<1x1024xf32>, tensor<127x1024xf32>) -> tensor<128x1024xf32>
  %3 = hlo.slice %u [0:128, 1023:1024] : (tensor<128x1024xf32>) -> tensor<128x1xf32>
  %4 = hlo.slice %u [0:128, 0:1023] : (tensor<128x1024xf32>) -> tensor<128x1023xf32>
  %5 = hlo.concatenate %3, %4, dim = 1 : (tensor<128x1xf32>, tensor<128x1023xf32>) -> tensor<128x1024xf32>
  %6 = hlo.add %2, %5 : tensor<128x1024xf32>
  func.return %6 : tensor<128x1024xf32>
}
