// RUN: hlo-opt %s -p 'bufferize{in-place=true}' | filecheck %s
// Parts that a kernel would copy to their own place are left out, if every call writes it over that argument.

// CHECK-LABEL: func.func @main
// CHECK:         func.call @made(%x, %[[A:.*]]) :
// CHECK-NEXT:    func.call @always(%[[A]], %[[A]])
// CHECK-NEXT:    func.call @always(%[[A]], %[[A]])
// CHECK-NEXT:    func.call @once(%[[A]], %[[B:.*]]) :
// CHECK-NEXT:    func.call @once(%[[A]], %[[A]])
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = func.call @made(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = func.call @always(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %c = func.call @always(%b) : (tensor<8xf32>) -> tensor<8xf32>
  %d = func.call @once(%c) : (tensor<8xf32>) -> tensor<8xf32>
  %e = func.call @once(%c) : (tensor<8xf32>) -> tensor<8xf32>
  %f = func.call @made(%d) : (tensor<8xf32>) -> tensor<8xf32>
  %g = func.call @made(%e) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %f, %g : tensor<8xf32>, tensor<8xf32>
}

func.func private @made(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %v, %v : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func private @always
// CHECK-NEXT:    memref.subview %{{.*}}[1] [7] [1]
// CHECK-NEXT:    linalg.generic
// CHECK:           arith.addf
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func private @always(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "concatenate"} {
  %e = tensor.empty() : tensor<1xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 8)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<1xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<1xf32>
  %f = tensor.empty() : tensor<7xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 + 1)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%f : tensor<7xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %v, %v : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  %g = tensor.empty() : tensor<8xf32>
  %2 = tensor.insert_slice %0 into %g[0] [1] [1] : tensor<1xf32> into tensor<8xf32>
  %3 = tensor.insert_slice %1 into %2[1] [7] [1] : tensor<7xf32> into tensor<8xf32>
  func.return %3 : tensor<8xf32>
}

// CHECK-LABEL: func.func private @once
// CHECK:         linalg.generic
// CHECK:         linalg.generic
// CHECK:         return
func.func private @once(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "concatenate"} {
  %e = tensor.empty() : tensor<1xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 8)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<1xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<1xf32>
  %f = tensor.empty() : tensor<7xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 + 1)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%f : tensor<7xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.subf %v, %v : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  %g = tensor.empty() : tensor<8xf32>
  %2 = tensor.insert_slice %0 into %g[0] [1] [1] : tensor<1xf32> into tensor<8xf32>
  %3 = tensor.insert_slice %1 into %2[1] [7] [1] : tensor<7xf32> into tensor<8xf32>
  func.return %3 : tensor<8xf32>
}
