// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @kinds
func.func @kinds(%z: tensor<3x8xcomplex<f32>>, %x: tensor<3x8xf32>, %h: tensor<3x5xcomplex<f64>>, %u: tensor<?x?xf32>) {
  // CHECK: hlo.fft %{{.*}}, type = FFT, length = [8] : (tensor<3x8xcomplex<f32>>) -> tensor<3x8xcomplex<f32>>
  %0 = stablehlo.fft %z, type = FFT, length = [8] : (tensor<3x8xcomplex<f32>>) -> tensor<3x8xcomplex<f32>>
  // CHECK: hlo.fft %{{.*}}, type = IFFT, length = [3, 8] : (tensor<3x8xcomplex<f32>>) -> tensor<3x8xcomplex<f32>>
  %1 = "stablehlo.fft"(%z) <{fft_length = array<i64: 3, 8>, fft_type = #stablehlo<fft_type IFFT>}> : (tensor<3x8xcomplex<f32>>) -> tensor<3x8xcomplex<f32>>
  // CHECK: hlo.fft %{{.*}}, type = RFFT, length = [8] : (tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>>
  %2 = "hlo.fft"(%x) {fft_length = dense<8> : tensor<1xi64>, fft_type = #hlo<fft_type RFFT>} : (tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>>
  // CHECK: hlo.fft %{{.*}}, type = IRFFT, length = [9] : (tensor<3x5xcomplex<f64>>) -> tensor<3x9xf64>
  %3 = hlo.fft %h, type = IRFFT, length = [9] : (tensor<3x5xcomplex<f64>>) -> tensor<3x9xf64>
  // CHECK: hlo.fft %{{.*}}, type = RFFT, length = [4, 8] : (tensor<?x?xf32>) -> tensor<?x?xcomplex<f32>>
  %4 = hlo.fft %u, type = RFFT, length = [4, 8] : (tensor<?x?xf32>) -> tensor<?x?xcomplex<f32>>
  return
}
