// Cheap values are computed again where they are read, if what they follow from is in memory anyway.
// RUN: hlo-opt %s --fuse-hlo --split-input-file | filecheck %s
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo --split-input-file | filecheck %s

// A product minus its mean, as in batch normalization, is read by three kernels; none writes it.

// CHECK-LABEL: func.func @centered
// CHECK:         %[[D:.*]], %[[M:.*]] = hlo.fusion dot
// CHECK:         %[[V:.*]] = hlo.fusion reduce (%{{.*}} = %[[M]] : tensor<64xf32>, %{{.*}} = %[[D]] : tensor<4096x64xf32>) -> tensor<64xf32>
// CHECK:           hlo.subtract
// CHECK:         hlo.fusion loop {{.*}}%[[D]] : tensor<4096x64xf32>{{.*}} -> tensor<64x4096xf32>
// CHECK:           hlo.subtract
// CHECK:         hlo.fusion dot {{.*}}%[[D]] : tensor<4096x64xf32>
// CHECK:           hlo.subtract
func.func @centered(%x: tensor<4096x32xf32>, %w: tensor<32x64xf32>, %g: tensor<4096x64xf32>) -> (tensor<4096x64xf32>, tensor<64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %n = hlo.constant dense<4096.0> : tensor<64xf32>
  %d = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x32xf32>, tensor<32x64xf32>) -> tensor<4096x64xf32>
  %s = hlo.reduce(%d init: %zero) applies hlo.add across dimensions = [0] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<64xf32>
  %m = hlo.divide %s, %n : tensor<64xf32>
  %mb = hlo.broadcast_in_dim %m, dims = [1] : (tensor<64xf32>) -> tensor<4096x64xf32>
  %c = hlo.subtract %d, %mb : tensor<4096x64xf32>
  %q = hlo.multiply %c, %c : tensor<4096x64xf32>
  %v = hlo.reduce(%q init: %zero) applies hlo.add across dimensions = [0] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<64xf32>
  %r = hlo.rsqrt %v : tensor<64xf32>
  %rb = hlo.broadcast_in_dim %r, dims = [1] : (tensor<64xf32>) -> tensor<4096x64xf32>
  %y = hlo.multiply %c, %rb : tensor<4096x64xf32>
  %h = hlo.transpose %y, dims = [1, 0] : (tensor<4096x64xf32>) -> tensor<64x4096xf32>
  %e = hlo.dot_general %h, %g, contracting_dims = [1] x [0] : (tensor<64x4096xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %f = hlo.dot_general %g, %e, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x64xf32>) -> tensor<4096x64xf32>
  %t = hlo.multiply %f, %c : tensor<4096x64xf32>
  %u = hlo.reduce(%t init: %zero) applies hlo.add across dimensions = [0] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<64xf32>
  func.return %f, %u : tensor<4096x64xf32>, tensor<64xf32>
}

// -----

// An elementary function of a large value is cheaper than its bytes. A small value stays in a cache, and is written.

// CHECK-LABEL: func.func @activated
// CHECK:         %[[D:.*]] = hlo.fusion dot
// CHECK-NOT:       hlo.tanh
// CHECK:         %[[G:.*]] = hlo.fusion dot {{.*}}%[[D]] : tensor<1024x2048xf32>{{.*}} -> tensor<1024x64xf32>
// CHECK:           hlo.tanh
// CHECK:         hlo.fusion dot {{.*}}%[[G]] : tensor<1024x64xf32>, {{.*}}%[[D]] : tensor<1024x2048xf32>) -> tensor<1024x2048xf32> {
// CHECK:           hlo.tanh
func.func @activated(%x: tensor<1024x64xf32>, %w: tensor<64x2048xf32>, %v: tensor<2048x64xf32>, %b: tensor<2048xf32>) -> tensor<1024x2048xf32> {
  %h0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x2048xf32>) -> tensor<1024x2048xf32>
  %b0 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<2048xf32>) -> tensor<1024x2048xf32>
  %h = hlo.add %h0, %b0 : tensor<1024x2048xf32>
  %t = hlo.tanh %h : tensor<1024x2048xf32>
  %y = hlo.multiply %h, %t : tensor<1024x2048xf32>
  %o = hlo.dot_general %y, %v, contracting_dims = [1] x [0] : (tensor<1024x2048xf32>, tensor<2048x64xf32>) -> tensor<1024x64xf32>
  %g = hlo.dot_general %o, %v, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<2048x64xf32>) -> tensor<1024x2048xf32>
  %s = hlo.multiply %h, %t : tensor<1024x2048xf32>
  %u = hlo.add %s, %t : tensor<1024x2048xf32>
  %r = hlo.multiply %g, %u : tensor<1024x2048xf32>
  func.return %r : tensor<1024x2048xf32>
}

// -----

// CHECK-LABEL: func.func @activated_small
// CHECK:         hlo.fusion loop {{.*}} -> (tensor<64x512xf32>, tensor<64x512xf32>)
// CHECK:           hlo.tanh
// CHECK-NOT:       hlo.tanh
func.func @activated_small(%x: tensor<64x64xf32>, %w: tensor<64x512xf32>, %v: tensor<512x64xf32>) -> tensor<64x512xf32> {
  %h = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
  %t = hlo.tanh %h : tensor<64x512xf32>
  %y = hlo.multiply %h, %t : tensor<64x512xf32>
  %o = hlo.dot_general %y, %v, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %g = hlo.dot_general %o, %v, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<512x64xf32>) -> tensor<64x512xf32>
  %u = hlo.add %h, %t : tensor<64x512xf32>
  %r = hlo.multiply %g, %u : tensor<64x512xf32>
  func.return %r : tensor<64x512xf32>
}

// -----

// The rows of a normalization, centered, are for its gradient the rows and their means, which are smaller.

// CHECK-LABEL: func.func @rows
// CHECK:         %[[M:.*]], %{{.*}} = hlo.fusion row<1> {{.*}} -> (tensor<256xf32>, tensor<256x128xf32>) {
// CHECK:         hlo.fusion row<1> (%{{.*}} = %[[M]] : tensor<256xf32>, %{{.*}} = %x : tensor<256x128xf32>
// CHECK:           hlo.subtract %{{.*}}, %{{.*}} : tensor<256x128xf32>
func.func @rows(%x: tensor<256x128xf32>, %w: tensor<128x128xf32>) -> tensor<256x128xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %n = hlo.constant dense<128.0> : tensor<256xf32>
  %s = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x128xf32>, tensor<f32>) -> tensor<256xf32>
  %m = hlo.divide %s, %n : tensor<256xf32>
  %mb = hlo.broadcast_in_dim %m, dims = [0] : (tensor<256xf32>) -> tensor<256x128xf32>
  %c = hlo.subtract %x, %mb : tensor<256x128xf32>
  %q = hlo.multiply %c, %c : tensor<256x128xf32>
  %v = hlo.reduce(%q init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x128xf32>, tensor<f32>) -> tensor<256xf32>
  %r = hlo.rsqrt %v : tensor<256xf32>
  %rb = hlo.broadcast_in_dim %r, dims = [0] : (tensor<256xf32>) -> tensor<256x128xf32>
  %y = hlo.multiply %c, %rb : tensor<256x128xf32>
  %d = hlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
  %e = hlo.dot_general %d, %w, contracting_dims = [1] x [1] : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
  %t = hlo.multiply %e, %c : tensor<256x128xf32>
  %u = hlo.reduce(%t init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x128xf32>, tensor<f32>) -> tensor<256xf32>
  %ub = hlo.broadcast_in_dim %u, dims = [0] : (tensor<256xf32>) -> tensor<256x128xf32>
  %z = hlo.multiply %c, %ub : tensor<256x128xf32>
  func.return %z : tensor<256x128xf32>
}

// -----

// The sum of a product and a tensor would be both for each reader: it is written, by the product's kernel.

// CHECK-LABEL: func.func @kept
// CHECK:         %[[S:.*]] = hlo.fusion dot
// CHECK:           hlo.add
// CHECK:         hlo.fusion {{.*}}%[[S]] : tensor<512x64xf32>
// CHECK-NOT:     hlo.add
// CHECK:         hlo.fusion {{.*}}%[[S]] : tensor<512x64xf32>
func.func @kept(%x: tensor<512x32xf32>, %w: tensor<32x64xf32>, %y: tensor<512x64xf32>) -> (tensor<64x512xf32>, tensor<64xf32>) {
  %one = hlo.constant dense<1.0> : tensor<f32>
  %d = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x32xf32>, tensor<32x64xf32>) -> tensor<512x64xf32>
  %s = hlo.add %d, %y : tensor<512x64xf32>
  %t = hlo.transpose %s, dims = [1, 0] : (tensor<512x64xf32>) -> tensor<64x512xf32>
  %u = hlo.reduce(%s init: %one) applies hlo.multiply across dimensions = [0] : (tensor<512x64xf32>, tensor<f32>) -> tensor<64xf32>
  func.return %t, %u : tensor<64x512xf32>, tensor<64xf32>
}

// -----

// Rows of more than 40 MB are computed again by the kernel that reads them, with the product that they come from. Other
// users would read them in memory.

// CHECK-LABEL: func.func @scores
// CHECK:         %[[S:.*]], %[[O:.*]] = hlo.fusion row<2> {{.*}} -> (tensor<12x1024xf32>, tensor<12x1024x32xf32>) {
// CHECK:         %[[G:.*]] = hlo.fusion loop {{.*}}%[[O]] :
// CHECK:         hlo.fusion row<2> (%{{.*}} = %q : {{.*}}, %{{.*}} = %k : {{.*}}, %{{.*}} = %[[S]] : tensor<12x1024xf32>
// CHECK-COUNT-3:   hlo.dot_general
// CHECK-LABEL: func.func @scores_kept
// CHECK:         %[[E:.*]], %{{.*}}, %{{.*}} = hlo.fusion row<2> {{.*}} -> (tensor<12x1024x1024xf32>,
// CHECK:         hlo.fusion row<2> {{.*}} = %[[E]] : tensor<12x1024x1024xf32>
func.func @scores(%q: tensor<12x1024x32xf32>, %k: tensor<12x1024x32xf32>) -> (tensor<12x1024x32xf32>, tensor<12x1024x32xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %s = hlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<12x1024x32xf32>, tensor<12x1024x32xf32>) -> tensor<12x1024x1024xf32>
  %e = hlo.exponential %s : tensor<12x1024x1024xf32>
  %n = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [2] : (tensor<12x1024x1024xf32>, tensor<f32>) -> tensor<12x1024xf32>
  %m = hlo.broadcast_in_dim %n, dims = [0, 1] : (tensor<12x1024xf32>) -> tensor<12x1024x1024xf32>
  %p = hlo.divide %e, %m : tensor<12x1024x1024xf32>
  %o = hlo.dot_general %p, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x1024x1024xf32>, tensor<12x1024x32xf32>) -> tensor<12x1024x32xf32>
  %g = hlo.sine %o : tensor<12x1024x32xf32>
  %d = hlo.dot_general %g, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<12x1024x32xf32>, tensor<12x1024x32xf32>) -> tensor<12x1024x1024xf32>
  %a = hlo.multiply %d, %e : tensor<12x1024x1024xf32>
  %b = hlo.reduce(%a init: %zero) applies hlo.add across dimensions = [2] : (tensor<12x1024x1024xf32>, tensor<f32>) -> tensor<12x1024xf32>
  %c = hlo.broadcast_in_dim %b, dims = [0, 1] : (tensor<12x1024xf32>) -> tensor<12x1024x1024xf32>
  %f = hlo.subtract %d, %c : tensor<12x1024x1024xf32>
  %h = hlo.multiply %f, %p : tensor<12x1024x1024xf32>
  %r = hlo.dot_general %h, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x1024x1024xf32>, tensor<12x1024x32xf32>) -> tensor<12x1024x32xf32>
  func.return %o, %r : tensor<12x1024x32xf32>, tensor<12x1024x32xf32>
}
func.func @scores_kept(%q: tensor<12x1024x32xf32>, %k: tensor<12x1024x32xf32>) -> (tensor<12x1024x1024xf32>, tensor<12x1024x32xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %s = hlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<12x1024x32xf32>, tensor<12x1024x32xf32>) -> tensor<12x1024x1024xf32>
  %e = hlo.exponential %s : tensor<12x1024x1024xf32>
  %n = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [2] : (tensor<12x1024x1024xf32>, tensor<f32>) -> tensor<12x1024xf32>
  %m = hlo.broadcast_in_dim %n, dims = [0, 1] : (tensor<12x1024xf32>) -> tensor<12x1024x1024xf32>
  %p = hlo.divide %e, %m : tensor<12x1024x1024xf32>
  %o = hlo.dot_general %p, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x1024x1024xf32>, tensor<12x1024x32xf32>) -> tensor<12x1024x32xf32>
  %g = hlo.sine %o : tensor<12x1024x32xf32>
  %d = hlo.dot_general %g, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<12x1024x32xf32>, tensor<12x1024x32xf32>) -> tensor<12x1024x1024xf32>
  %a = hlo.multiply %d, %e : tensor<12x1024x1024xf32>
  %b = hlo.reduce(%a init: %zero) applies hlo.add across dimensions = [2] : (tensor<12x1024x1024xf32>, tensor<f32>) -> tensor<12x1024xf32>
  %c = hlo.broadcast_in_dim %b, dims = [0, 1] : (tensor<12x1024xf32>) -> tensor<12x1024x1024xf32>
  %f = hlo.subtract %d, %c : tensor<12x1024x1024xf32>
  %h = hlo.multiply %f, %p : tensor<12x1024x1024xf32>
  %r = hlo.dot_general %h, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x1024x1024xf32>, tensor<12x1024x32xf32>) -> tensor<12x1024x32xf32>
  func.return %e, %r : tensor<12x1024x1024xf32>, tensor<12x1024x32xf32>
}

// -----

// The selection is computed again for the gather, from the broadcast that the row fusion writes. So the loop with it runs
// after the row fusion, and cannot compute the transpose, which the row fusion reads.

// CHECK-LABEL: func.func @selected
// CHECK:         %[[T:.*]] = hlo.fusion loop {{.*}} -> tensor<4x6x5xf32>
// CHECK:         %[[B:.*]], %{{.*}}, %{{.*}} = hlo.fusion row<2> {{.*}}%[[T]] : tensor<4x6x5xf32>
// CHECK:         %[[S:.*]] = hlo.fusion loop {{.*}}%[[B]] : tensor<4x6x5xi1>, %{{.*}} = %[[T]] : tensor<4x6x5xf32>
// CHECK:         hlo.fusion loop {{.*}}%[[S]] : tensor<4x6x5xf32>
func.func @selected(%x: tensor<6x8x4xf32>, %i: tensor<5x1xi32>, %m: tensor<4x6xi1>, %j: tensor<4000x1xi32>) -> (tensor<4x6xf32>, tensor<4x6x5xi1>, tensor<4000x6x5xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<4x6x5xf32>
  %g = "hlo.gather"(%x, %i) <{slice_sizes = array<i64: 6, 1, 4>, dimension_numbers = #hlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>}> : (tensor<6x8x4xf32>, tensor<5x1xi32>) -> tensor<5x6x4xf32>
  %t = hlo.transpose %g, dims = [2, 1, 0] : (tensor<5x6x4xf32>) -> tensor<4x6x5xf32>
  %b = hlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<4x6xi1>) -> tensor<4x6x5xi1>
  %s = hlo.select %b, %t, %zeros : tensor<4x6x5xi1>, tensor<4x6x5xf32>
  %r = hlo.reduce(%s init: %low) applies hlo.maximum across dimensions = [2] : (tensor<4x6x5xf32>, tensor<f32>) -> tensor<4x6xf32>
  %rb = hlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x6x5xf32>
  %c = hlo.compare EQ, %s, %rb : (tensor<4x6x5xf32>, tensor<4x6x5xf32>) -> tensor<4x6x5xi1>
  %o = "hlo.gather"(%s, %j) <{slice_sizes = array<i64: 1, 6, 5>, dimension_numbers = #hlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x6x5xf32>, tensor<4000x1xi32>) -> tensor<4000x6x5xf32>
  func.return %r, %c, %o : tensor<4x6xf32>, tensor<4x6x5xi1>, tensor<4000x6x5xf32>
}

// -----

// A user of one element computes it for itself, so that the other one need not read the value from memory.

// CHECK-LABEL: func.func @probed
// CHECK:         hlo.fusion concatenate {{.*}} -> tensor<161x160xf32>
// CHECK:           hlo.exponential
// CHECK:         hlo.fusion loop {{.*}} -> tensor<1x1xf32>
// CHECK:           hlo.exponential
// CHECK-NOT:     hlo.fusion
func.func @probed(%x: tensor<160x160xf32>, %y: tensor<160x160xf32>, %z: tensor<1x160xf32>) -> (tensor<161x160xf32>, tensor<1x1xf32>) {
  %0 = hlo.add %x, %y : tensor<160x160xf32>
  %1 = hlo.exponential %0 : tensor<160x160xf32>
  %2 = hlo.concatenate %1, %z, dim = 0 : (tensor<160x160xf32>, tensor<1x160xf32>) -> tensor<161x160xf32>
  %3 = hlo.slice %1 [80:81, 80:81] : (tensor<160x160xf32>) -> tensor<1x1xf32>
  %4 = hlo.add %3, %3 : tensor<1x1xf32>
  func.return %2, %4 : tensor<161x160xf32>, tensor<1x1xf32>
}
