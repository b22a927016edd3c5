// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @more_lengths_than_dimensions(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+1 {{fft_c1: fft_length has 2 entries, the operand 1 dimensions}}
  %0 = hlo.fft %x, type = FFT, length = [4, 8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @fft_of_reals(%x: tensor<8xf32>) {
  // expected-error@+1 {{fft_c2: FFT takes complex numbers, the operand has element type f32}}
  %0 = hlo.fft %x, type = FFT, length = [8] : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @rfft_of_complex_numbers(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+1 {{fft_c2: RFFT takes floats, the operand has element type complex<f32>}}
  %0 = hlo.fft %x, type = RFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @result_of_another_precision(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+1 {{fft_c2: FFT of complex<f32> gives complex<f32>, the result has element type complex<f64>}}
  %0 = hlo.fft %x, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f64>>
  return
}

// -----

func.func @inverse_gives_reals(%x: tensor<5xcomplex<f32>>) {
  // expected-error@+1 {{fft_c2: IRFFT of complex<f32> gives f32, the result has element type complex<f32>}}
  %0 = hlo.fft %x, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @no_length(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+1 {{fft_c3: fft_length has 0 entries, expected 1 to 3}}
  %0 = hlo.fft %x, type = FFT, length = [] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @four_lengths(%x: tensor<1x1x1x8xcomplex<f32>>) {
  // expected-error@+1 {{fft_c3: fft_length has 4 entries, expected 1 to 3}}
  %0 = hlo.fft %x, type = FFT, length = [1, 1, 1, 8] : (tensor<1x1x1x8xcomplex<f32>>) -> tensor<1x1x1x8xcomplex<f32>>
  return
}

// -----

func.func @length_of_another_size(%x: tensor<8xf32>) {
  // expected-error@+1 {{fft_c4: fft_length is (9,), the operand has shape (8)}}
  %0 = hlo.fft %x, type = RFFT, length = [9] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @inverse_length_of_another_size(%x: tensor<5xcomplex<f32>>) {
  // expected-error@+1 {{fft_c4: fft_length is (8,), the result has shape (9)}}
  %0 = hlo.fft %x, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<9xf32>
  return
}

// -----

func.func @result_of_another_size(%x: tensor<8xf32>) {
  // expected-error@+1 {{fft_c5: result has type tensor<8xcomplex<f32>>, expected tensor<5xcomplex<f32>>}}
  %0 = hlo.fft %x, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @half_spectrum_of_another_size(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+1 {{fft_c5: IRFFT of lengths (8,) takes (5) elements, the operand has shape (8)}}
  %0 = hlo.fft %x, type = IRFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xf32>
  return
}

// -----

func.func @half_precision(%x: tensor<8xf16>) {
  // expected-error@+1 {{fft_i1: operand has element type f16, expected f32, f64 or complex numbers of these}}
  %0 = hlo.fft %x, type = RFFT, length = [8] : (tensor<8xf16>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @other_lengths(%x: tensor<2x16xcomplex<f32>>) {
  // expected-error@+1 {{fft_i2: fft_length is (8,), the operand has shape (2, 16)}}
  %0 = hlo.fft %x, type = FFT, length = [8] : (tensor<2x16xcomplex<f32>>) -> tensor<2x16xcomplex<f32>>
  func.return
}
