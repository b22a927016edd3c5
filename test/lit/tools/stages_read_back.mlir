// The text of each stage is valid after every pass, and reads back in each form: of vectors, loops and runtime functions.
// RUN: hlo-opt %s --fuse --lower=linalg --verify-each | hlo-opt --verify-roundtrip | filecheck %s --check-prefix=LINALG
// RUN: hlo-opt %s --fuse --lower=loops --verify-each | hlo-opt --verify-roundtrip | filecheck %s --check-prefix=LOOPS
// RUN: hlo-opt %s --fuse --lower --verify-each | hlo-opt --verify-roundtrip | filecheck %s --check-prefix=LLVM

// LINALG:     scf.while
// LOOPS-DAG:  arith.select {{.*}} : vector<{{[0-9]+}}xi1>, vector<{{[0-9]+}}xf32>
// LOOPS-DAG:  arith.select {{.*}} : vector<{{[0-9]+}}xi1>, vector<{{[0-9]+}}xi32>
// LOOPS-DAG:  arith.cmpf ogt, {{.*}} : vector<{{[0-9]+}}xf32>
// LOOPS-DAG:  arith.sitofp {{.*}} : vector<{{[0-9]+}}xi8> to vector<{{[0-9]+}}xf32>
// LLVM-DAG:   llvm.select {{.*}} : vector<{{[0-9]+}}xi1>, vector<{{[0-9]+}}xf32>
// LLVM-DAG:   llvm.func {{.*}}passthrough = [
func.func @main(%keys: tensor<131072xf32>, %matrices: tensor<32x4x4xf32>, %x: tensor<64x256xf32>, %w: tensor<256x256xi8>)
    -> (tensor<131072xf32>, tensor<32x4x4xf32>, tensor<64x256xf32>, tensor<i32>) {
  %sorted = "hlo.sort"(%keys) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %less : tensor<i1>
  }) : (tensor<131072xf32>) -> tensor<131072xf32>
  %lu:3 = hlo.custom_call @xhlo.getrf(%matrices) : (tensor<32x4x4xf32>) -> (tensor<32x4x4xf32>, tensor<32x4xi32>, tensor<32xi32>)
  %wide = hlo.convert %w : (tensor<256x256xi8>) -> tensor<256x256xf32>
  %product = hlo.dot %x, %wide : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %zero = hlo.constant dense<0> : tensor<i32>
  %pivots = hlo.slice %lu#1 [0:1, 0:1] : (tensor<32x4xi32>) -> tensor<1x1xi32>
  %limit = hlo.reshape %pivots : (tensor<1x1xi32>) -> tensor<i32>
  %count = hlo.while(%i = %zero) : tensor<i32>
   cond {
    %goes_on = hlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %goes_on : tensor<i1>
  } do {
    %one = hlo.constant dense<1> : tensor<i32>
    %next = hlo.add %i, %one : tensor<i32>
    hlo.return %next : tensor<i32>
  }
  return %sorted, %lu#0, %product, %count : tensor<131072xf32>, tensor<32x4x4xf32>, tensor<64x256xf32>, tensor<i32>
}
