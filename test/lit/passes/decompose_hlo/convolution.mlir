// RUN: hlo-opt %s --decompose-hlo | filecheck %s
// RUN: hlo-opt %s --decompose-hlo='bfloat-dots=true' | filecheck %s --check-prefix=PAIRS

// Padding and reversal become operations of their own.
// CHECK-LABEL: func.func @padded
// CHECK:         %[[W:.*]] = hlo.reverse %w, dims = [0]
// CHECK:         %[[X:.*]] = hlo.pad %x, %{{.*}}, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 0, 0]
// CHECK:         hlo.convolution(%[[X]], %[[W]]) {{.*}} window = {stride = [2]}
func.func @padded(%x: tensor<1x8x4xf32>, %w: tensor<3x4x6xf32>) -> tensor<1x5x6xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 2]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x5x6xf32>
  return %0 : tensor<1x5x6xf32>
}

// If the input is dilated by 2, even results read one element of the kernel, odd ones the other two.
// CHECK-LABEL: func.func @dilated
// CHECK:         %[[ONE:.*]] = hlo.slice %w [1:2:2, 0:64, 0:64]
// CHECK:         %[[EVEN:.*]] = hlo.convolution(%x, %[[ONE]]) {{.*}} -> tensor<8x64x64xf32>
// CHECK:         %[[TWO:.*]] = hlo.slice %w [0:3:2, 0:64, 0:64]
// CHECK:         %[[X:.*]] = hlo.pad %x, %{{.*}}, low = [0, 0, 0], high = [0, 1, 0], interior = [0, 0, 0]
// CHECK:         %[[ODD:.*]] = hlo.convolution(%[[X]], %[[TWO]]) {{.*}} -> tensor<8x64x64xf32>
// CHECK:         hlo.concatenate {{.*}} -> tensor<8x64x2x64xf32>
// CHECK:         hlo.slice {{.*}} [0:8, 0:127, 0:64]
func.func @dilated(%x: tensor<8x64x64xf32>, %w: tensor<3x64x64xf32>) -> tensor<8x127x64xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x64x64xf32>, tensor<3x64x64xf32>) -> tensor<8x127x64xf32>
  return %0 : tensor<8x127x64xf32>
}

// Two dilated dimensions: the concatenation of four phases is one of concatenations, with nothing between them.
// CHECK-LABEL: func.func @dilated_twice
// CHECK-COUNT-4: hlo.convolution
// CHECK:         hlo.concatenate %{{.*}}, dim = 4 : {{.*}} -> tensor<8x14x1x14x2x64xf32>
// CHECK:         %[[ALL:.*]] = hlo.concatenate %{{.*}}, %{{.*}}, dim = 2 : {{.*}} -> tensor<8x14x2x14x2x64xf32>
// CHECK-NEXT:    hlo.reshape %[[ALL]] : {{.*}} -> tensor<8x28x28x64xf32>
func.func @dilated_twice(%x: tensor<8x14x14x64xf32>, %w: tensor<3x3x64x64xf32>) -> tensor<8x28x28x64xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x14x14x64xf32>, tensor<3x3x64x64xf32>) -> tensor<8x28x28x64xf32>
  return %0 : tensor<8x28x28x64xf32>
}

// Windows of one element read nothing for the odd results: zeros stand between the even ones.
// CHECK-LABEL: func.func @dilated_ones
// CHECK:         %[[EVEN:.*]] = hlo.convolution(%x, %w) {{.*}} -> tensor<8x14x14x64xf32>
// CHECK:         %[[ALL:.*]] = hlo.pad %[[EVEN]], %{{.*}}, low = [0, 0, 0, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0]
// CHECK-NOT:     hlo.concatenate
// CHECK:         return %[[ALL]]
func.func @dilated_ones(%x: tensor<8x14x14x64xf32>, %w: tensor<1x1x64x64xf32>) -> tensor<8x28x28x64xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 1], [0, 1]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x14x14x64xf32>, tensor<1x1x64x64xf32>) -> tensor<8x28x28x64xf32>
  return %0 : tensor<8x28x28x64xf32>
}

// Negative padding is a slice.
// CHECK-LABEL: func.func @cropped
// CHECK:         %[[X:.*]] = hlo.slice %x [0:8, 1:30, 0:16]
// CHECK-NEXT:    hlo.convolution(%[[X]], %w)
func.func @cropped(%x: tensor<8x32x16xf32>, %w: tensor<3x16x16xf32>) -> tensor<8x27x16xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[-1, -2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x16xf32>, tensor<3x16x16xf32>) -> tensor<8x27x16xf32>
  return %0 : tensor<8x27x16xf32>
}

// Short floats are converted once, and features become the contiguous dimension.
// CHECK-LABEL: func.func @channels_first
// CHECK:         %[[X:.*]] = hlo.convert %x
// CHECK:         %[[W:.*]] = hlo.convert %w
// CHECK:         %[[T:.*]] = hlo.transpose %[[X]], dims = [0, 2, 1]
// CHECK:         %[[C:.*]] = hlo.convolution(%[[T]], %[[W]]) dim_numbers = [b, 0, f]x[o, i, 0]->[b, 0, f]
// CHECK:         %[[R:.*]] = hlo.transpose %[[C]], dims = [0, 2, 1]
// CHECK:         hlo.convert %[[R]] : (tensor<8x64x62xf32>) -> tensor<8x64x62xbf16>
// Where features are multiplied in pairs, they stay short.
// PAIRS-LABEL: func.func @channels_first
// PAIRS:         %[[T:.*]] = hlo.transpose %x, dims = [0, 2, 1]
// PAIRS:         hlo.convolution(%[[T]], %w) {{.*}} -> tensor<8x62x64xbf16>
func.func @channels_first(%x: tensor<8x64x64xbf16>, %w: tensor<64x64x3xbf16>) -> tensor<8x64x62xbf16> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x64x64xbf16>, tensor<64x64x3xbf16>) -> tensor<8x64x62xbf16>
  return %0 : tensor<8x64x62xbf16>
}

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    hlo.constant dense<0.000000e+00> : tensor<8x62x4xf32>
func.func @nothing(%x: tensor<8x64x0xf32>, %w: tensor<3x0x4xf32>) -> tensor<8x62x4xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x64x0xf32>, tensor<3x0x4xf32>) -> tensor<8x62x4xf32>
  return %0 : tensor<8x62x4xf32>
}

// Each element of the result is a product with one element of the kernel, whose 16 elements are 16 times as many features.
// CHECK-LABEL: func.func @patches
// CHECK:         hlo.reverse
// CHECK:         %[[W:.*]] = hlo.reshape {{.*}} -> tensor<1x64x48xf32>
// CHECK:         hlo.convolution(%x, %[[W]]) {{.*}} -> tensor<64x8x48xf32>
// CHECK-NOT:     hlo.convolution
// CHECK:         hlo.reshape {{.*}} -> tensor<64x128x3xf32>
func.func @patches(%x: tensor<64x8x64xf32>, %w: tensor<16x64x3xf32>) -> tensor<64x128x3xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[15, 15]], lhs_dilate = [16]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x8x64xf32>, tensor<16x64x3xf32>) -> tensor<64x128x3xf32>
  return %0 : tensor<64x128x3xf32>
}

// Windows that do not overlap are rows of a matrix, whose elements follow each other once the input is copied.
// CHECK-LABEL: func.func @windows_apart
// CHECK:         %[[X:.*]] = hlo.reshape %x : (tensor<4x8x64xf32>) -> tensor<4x8x16x4xf32>
// CHECK:         %[[T:.*]] = hlo.transpose %[[X]], dims = [0, 2, 1, 3]
// CHECK:         %[[ROWS:.*]] = hlo.reshape %[[T]] : (tensor<4x16x8x4xf32>) -> tensor<64x32xf32>
// CHECK:         %[[W:.*]] = hlo.reshape %w : (tensor<256x8x4xf32>) -> tensor<256x32xf32>
// CHECK:         hlo.dot_general %[[ROWS]], %[[W]], contracting_dims = [1] x [1]
// CHECK:         hlo.transpose {{.*}} -> tensor<4x256x16xf32>
func.func @windows_apart(%x: tensor<4x8x64xf32>, %w: tensor<256x8x4xf32>) -> tensor<4x256x16xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x64xf32>, tensor<256x8x4xf32>) -> tensor<4x256x16xf32>
  return %0 : tensor<4x256x16xf32>
}

// One window whose elements are apart: every second element of each image, summed over images.
// CHECK-LABEL: func.func @one_window
// CHECK:         hlo.reshape {{.*}} -> tensor<8x32x2x16xf32>
// CHECK:         hlo.slice {{.*}} -> tensor<8x32x1x16xf32>
// CHECK:         hlo.dot_general
func.func @one_window(%x: tensor<8x64x16xf32>, %w: tensor<8x32x64xf32>) -> tensor<1x16x64xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[0, -1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x64x16xf32>, tensor<8x32x64xf32>) -> tensor<1x16x64xf32>
  return %0 : tensor<1x16x64xf32>
}

// One window of whole images, channels first: both factors are summed along rows as they lie, and neither is copied.
// CHECK-LABEL: func.func @rows_of_images
// CHECK-NEXT:    %[[Y:.*]] = hlo.convolution(%x, %w) {{.*}} -> tensor<64x32x1x1xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @rows_of_images(%x: tensor<8x32x14x14xf32>, %w: tensor<8x64x14x14xf32>) -> tensor<64x32x1x1xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x14x14xf32>, tensor<8x64x14x14xf32>) -> tensor<64x32x1x1xf32>
  return %0 : tensor<64x32x1x1xf32>
}

// Small images are copied, so that one sum goes on along all of them.
// CHECK-LABEL: func.func @rows_of_small_images
// CHECK:         hlo.transpose {{.*}} -> tensor<8x7x7x32x1x1xf32>
// CHECK:         hlo.dot_general {{.*}} -> tensor<64x32xf32>
func.func @rows_of_small_images(%x: tensor<8x32x7x7xf32>, %w: tensor<8x64x7x7xf32>) -> tensor<64x32x1x1xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x7x7xf32>, tensor<8x64x7x7xf32>) -> tensor<64x32x1x1xf32>
  return %0 : tensor<64x32x1x1xf32>
}

// An odd number of features gets a further one, so that those of neighbouring places are pairs.
// PAIRS-LABEL: func.func @odd_features
// PAIRS:         %[[X:.*]] = hlo.pad %x, %{{.*}}, low = [0, 0, 0], high = [0, 0, 1]
// PAIRS:         %[[W:.*]] = hlo.pad %w, %{{.*}}, low = [0, 0, 0], high = [0, 1, 0]
// PAIRS:         hlo.convolution(%[[X]], %[[W]]) {{.*}} -> tensor<8x250x64xbf16>
func.func @odd_features(%x: tensor<8x256x3xbf16>, %w: tensor<7x3x64xbf16>) -> tensor<8x250x64xbf16> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x256x3xbf16>, tensor<7x3x64xbf16>) -> tensor<8x250x64xbf16>
  return %0 : tensor<8x250x64xbf16>
}

// Windows of 25 elements over an input of 9, which exchange places: what pads the input dilates, and the reverse.
// CHECK-LABEL: func.func @larger_than_input
// CHECK-NEXT:    %[[W:.*]] = hlo.reverse %w, dims = [1, 2]
// CHECK-NEXT:    %[[X:.*]] = hlo.reverse %x, dims = [0, 1]
// CHECK:         %[[P:.*]] = hlo.pad %[[W]], %{{.*}}, low = [0, 2, 2, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0]
// CHECK-NEXT:    %[[R:.*]] = hlo.convolution(%[[P]], %[[X]]) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]
// CHECK-SAME:    precision_config = [#hlo<precision HIGH>, #hlo<precision DEFAULT>]
// CHECK-NEXT:    return %[[R]]
func.func @larger_than_input(%x: tensor<3x3x4x6xf32>, %w: tensor<2x5x5x6xf32>) -> tensor<2x10x10x4xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [0, 1, b, f]x[o, 0, 1, i]->[f, 0, 1, b], window = {pad = [[8, 7], [8, 7]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#hlo<precision DEFAULT>, #hlo<precision HIGH>]} : (tensor<3x3x4x6xf32>, tensor<2x5x5x6xf32>) -> tensor<2x10x10x4xf32>
  return %0 : tensor<2x10x10x4xf32>
}

// One image of many features would leave most elements of a vector empty: the order stays.
// CHECK-LABEL: func.func @one_image
// CHECK-NOT:     hlo.reverse
// CHECK:         return
func.func @one_image(%x: tensor<1x4x4x8xf32>, %w: tensor<7x7x8x32xf32>) -> tensor<1x4x4x32xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[3, 3], [3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x8xf32>, tensor<7x7x8x32xf32>) -> tensor<1x4x4x32xf32>
  return %0 : tensor<1x4x4x32xf32>
}

// The phases of a depthwise convolution are sums of products with one padded input, which the concatenation computes.
// CHECK-LABEL: func.func @depthwise_phases
// CHECK-NOT:     hlo.convolution
// CHECK:         %[[X:.*]] = hlo.pad %x, %{{.*}}, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0]
// CHECK:         hlo.slice %[[X]] [0:8, 0:28, 0:144]
// CHECK:         hlo.slice %w [0:1, 0:1, 0:144]
// CHECK:         hlo.multiply
// CHECK:         hlo.slice %[[X]] [0:8, 1:29, 0:144]
// CHECK:         hlo.slice %w [2:3, 0:1, 0:144]
// CHECK:         hlo.slice %[[X]] [0:8, 2:30, 0:144]
// CHECK:         hlo.slice %w [4:5, 0:1, 0:144]
// CHECK:         hlo.slice %[[X]] [0:8, 1:29, 0:144]
// CHECK:         hlo.slice %w [1:2, 0:1, 0:144]
// CHECK:         hlo.concatenate {{.*}} -> tensor<8x28x2x144xf32>
// CHECK-NEXT:    %[[Y:.*]] = hlo.reshape {{.*}} -> tensor<8x56x144xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @depthwise_phases(%x: tensor<8x28x144xf32>, %w: tensor<5x1x144xf32>) -> tensor<8x56x144xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 3]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 144 : i64} : (tensor<8x28x144xf32>, tensor<5x1x144xf32>) -> tensor<8x56x144xf32>
  return %0 : tensor<8x56x144xf32>
}

// Those of ten elements of the kernel are convolutions, whose blocks would begin before the first result: the phases are
// apart, and no copy leaves out what is around the results.
// CHECK-LABEL: func.func @long_depthwise_phases
// CHECK:         hlo.convolution({{.*}} -> tensor<8x28x144xf32>
// CHECK:         hlo.convolution({{.*}} -> tensor<8x28x144xf32>
// CHECK:         hlo.concatenate {{.*}} -> tensor<8x28x2x144xf32>
// CHECK-NEXT:    %[[Y:.*]] = hlo.reshape {{.*}} -> tensor<8x56x144xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @long_depthwise_phases(%x: tensor<8x28x144xf32>, %w: tensor<19x1x144xf32>) -> tensor<8x56x144xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[9, 10]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 144 : i64} : (tensor<8x28x144xf32>, tensor<19x1x144xf32>) -> tensor<8x56x144xf32>
  return %0 : tensor<8x56x144xf32>
}

// The gradient of depthwise filters is summed along rows where the images lie, unlike that of one group's filters.
// CHECK-LABEL: func.func @depthwise_filters
// CHECK-NOT:     transpose
// CHECK:         hlo.convolution(%x, %dy) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]
// CHECK-LABEL: func.func @filters
// CHECK:         %[[X:.*]] = hlo.transpose %x
// CHECK:         hlo.convolution(%[[X]], %dy)
func.func @depthwise_filters(%x: tensor<4x32x18x18xf32>, %dy: tensor<4x32x16x16xf32>) -> tensor<32x1x3x3xf32> {
  %0 = hlo.convolution(%x, %dy) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {} {batch_group_count = 32 : i64, feature_group_count = 1 : i64} : (tensor<4x32x18x18xf32>, tensor<4x32x16x16xf32>) -> tensor<32x1x3x3xf32>
  return %0 : tensor<32x1x3x3xf32>
}
func.func @filters(%x: tensor<4x32x18x18xf32>, %dy: tensor<4x32x16x16xf32>) -> tensor<32x32x3x3xf32> {
  %0 = hlo.convolution(%x, %dy) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x32x18x18xf32>, tensor<4x32x16x16xf32>) -> tensor<32x32x3x3xf32>
  return %0 : tensor<32x32x3x3xf32>
}
