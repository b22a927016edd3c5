// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @inference_index_high(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_inference_c1: feature_index 2 is not in [0, 2)}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  return
}

// -----

func.func @inference_index_low(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_inference_c1: feature_index -1 is not in [0, 2)}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = -1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  return
}

// -----

func.func @inference_types(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf64>, %3: tensor<3xf32>, %4: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_inference_c2: a value of type tensor<3xf64> stands beside an operand of elements of f32}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  return
}

// -----

func.func @inference_scale(%0: tensor<2x3xf32>, %1: tensor<4xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_inference_c3: scale has type tensor<4xf32>, the operand has 3 features}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  return
}

// -----

func.func @inference_offset(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>, %3: tensor<3xf32>, %4: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_inference_c4: offset has type tensor<4xf32>, the operand has 3 features}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  return
}

// -----

func.func @inference_mean(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<4xf32>, %4: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_inference_c5: mean has type tensor<4xf32>, the operand has 3 features}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  return
}

// -----

func.func @inference_variance(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<4xf32>) {
  // expected-error@+1 {{batch_norm_inference_c6: variance has type tensor<4xf32>, the operand has 3 features}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x3xf32>)
  return
}

// -----

func.func @inference_result(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_inference_c7: result has type tensor<3x3xf32>, expected tensor<2x3xf32>}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3x3xf32>)
  return
}

// -----

func.func @inference_integers(%0: tensor<2x3xi32>, %1: tensor<3xi32>, %2: tensor<3xi32>, %3: tensor<3xi32>, %4: tensor<3xi32>) {
  // expected-error@+1 {{batch_norm_inference_i1: operand has element type i32, expected float}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> (tensor<2x3xi32>)
  return
}

// -----

func.func @inference_matrix(%0: tensor<2x3xf32>, %1: tensor<1x3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_inference_i2: operand of shape (1, 3) is not 1-dimensional}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  return
}

// -----

func.func @inference_epsilon(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_inference_i6: epsilon has type f64, expected f32}}
  %r = "hlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f64, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  return
}

// -----

func.func @training_index(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_training_c1: feature_index 5 is not in [0, 2)}}
  %r:3 = "hlo.batch_norm_training"(%0, %1, %2) <{epsilon = 1.0 : f32, feature_index = 5 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @training_types(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf16>) {
  // expected-error@+1 {{batch_norm_training_c2: a value of type tensor<3xf16> stands beside}}
  %r:3 = "hlo.batch_norm_training"(%0, %1, %2) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf16>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @training_scale(%0: tensor<2x3xf32>, %1: tensor<4xf32>, %2: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_training_c3: scale has type tensor<4xf32>, the operand has 3 features}}
  %r:3 = "hlo.batch_norm_training"(%0, %1, %2) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @training_offset(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>) {
  // expected-error@+1 {{batch_norm_training_c4: offset has type tensor<4xf32>, the operand has 3 features}}
  %r:3 = "hlo.batch_norm_training"(%0, %1, %2) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @training_mean(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_training_c5: batch_mean has type tensor<4xf32>, the operand has 3 features}}
  %r:3 = "hlo.batch_norm_training"(%0, %1, %2) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @training_variance(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_training_c6: batch_var has type tensor<f32>, the operand has 3 features}}
  %r:3 = "hlo.batch_norm_training"(%0, %1, %2) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<f32>)
  return
}

// -----

func.func @training_result(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>) {
  // expected-error@+1 {{batch_norm_training_c7: result 0 has type tensor<3x3xf32>, expected tensor<2x3xf32>}}
  %r:3 = "hlo.batch_norm_training"(%0, %1, %2) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @grad_index(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<2x3xf32>) {
  // expected-error@+1 {{batch_norm_grad_c1: feature_index 2 is not in [0, 2)}}
  %r:3 = "hlo.batch_norm_grad"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @grad_types(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<2x3xf32>) {
  // expected-error@+1 {{batch_norm_grad_c2: a value of type tensor<3xf64> stands beside}}
  %r:3 = "hlo.batch_norm_grad"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf64>)
  return
}

// -----

func.func @grad_shape(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<3x3xf32>) {
  // expected-error@+1 {{batch_norm_grad_c3: operand has shape (2, 3), grad_output (3, 3)}}
  %r:3 = "hlo.batch_norm_grad"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @grad_vectors(%0: tensor<2x3xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>, %3: tensor<3xf32>, %4: tensor<2x3xf32>) {
  // expected-error@+1 {{batch_norm_grad_c4: scale has shape (3), another vector (4)}}
  %r:3 = "hlo.batch_norm_grad"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @grad_scale(%0: tensor<2x3xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>, %3: tensor<4xf32>, %4: tensor<2x3xf32>) {
  // expected-error@+1 {{batch_norm_grad_c5: scale has type tensor<4xf32>, the operand has 3 features}}
  %r:3 = "hlo.batch_norm_grad"(%0, %1, %2, %3, %4) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
