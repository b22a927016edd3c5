// RUN: hlo-opt %s --decompose-hlo | filecheck %s

// 64 = 8 * 8: two products with the matrix of a DFT of 8 elements, on both parts, and a twiddle factor between them.
// CHECK-LABEL: func.func @fft
// CHECK:         %[[RE:.*]] = hlo.real %x
// CHECK:         %[[IM:.*]] = hlo.imag %x
// CHECK:         hlo.concatenate
// CHECK:         hlo.reshape %{{.*}} : (tensor<2x64xf32>) -> tensor<2x8x8xf32>
// CHECK:         hlo.dot_general %{{.*}}, contracting_dims = [2, 3] x [0, 1] : (tensor<2x8x2x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
// CHECK:         hlo.reverse %{{.*}}, dims = [0]
// CHECK:         hlo.dot_general %{{.*}}, contracting_dims = [2, 3] x [0, 2]
// CHECK:         hlo.complex
// CHECK-NOT:     hlo.fft
func.func @fft(%x: tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>> {
  %0 = hlo.fft %x, type = FFT, length = [64] : (tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>>
  return %0 : tensor<64xcomplex<f32>>
}

// A large prime: a convolution of 256 elements.
// CHECK-LABEL: func.func @prime
// CHECK:         hlo.pad %{{.*}}, low = [0, 0], high = [0, 155]
// CHECK:         hlo.slice %{{.*}} [0:2, 0:101]
// CHECK-NOT:     hlo.fft
func.func @prime(%x: tensor<101xf64>) -> tensor<51xcomplex<f64>> {
  %0 = hlo.fft %x, type = RFFT, length = [101] : (tensor<101xf64>) -> tensor<51xcomplex<f64>>
  return %0 : tensor<51xcomplex<f64>>
}
