// RUN: hlo-opt %s -p 'bufferize{in-place=true}' | filecheck %s
// A concatenation is written over an argument whose elements its parts read only where they write.

// CHECK-LABEL: func.func @main
// CHECK:         %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    func.call @same(%x, %[[A]])
// CHECK-NEXT:    func.call @same(%[[A]], %[[A]])
// CHECK-NEXT:    func.call @moved(%[[A]], %{{.*}})
// CHECK-NOT:     memref.copy
// CHECK:       func.func private @same({{.*}}) attributes {hlo.kernel = "concatenate", xhlo.shared_buffers = array<i64: 0, 1>}
// CHECK:       func.func private @moved({{.*}}) attributes {hlo.kernel = "concatenate"}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = func.call @same(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = func.call @same(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %c = func.call @moved(%b) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %c : tensor<8xf32>
}

func.func private @same(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "concatenate"} {
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

func.func private @moved(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "concatenate"} {
  %e = tensor.empty() : tensor<1xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 8)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<1xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<1xf32>
  %f = tensor.empty() : tensor<7xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 8)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%f : tensor<7xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<7xf32>
  %g = tensor.empty() : tensor<8xf32>
  %2 = tensor.insert_slice %0 into %g[0] [1] [1] : tensor<1xf32> into tensor<8xf32>
  %3 = tensor.insert_slice %1 into %2[1] [7] [1] : tensor<7xf32> into tensor<8xf32>
  func.return %3 : tensor<8xf32>
}
