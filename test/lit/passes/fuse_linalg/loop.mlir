// RUN: hlo-opt %s --fuse-linalg | filecheck %s

// One generic with two results; a value that both need is computed once and is not a result.
// CHECK-LABEL: @shared
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<4xf32>) outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK:           %[[E:.*]] = math.exp
// CHECK-NEXT:      %[[N:.*]] = arith.negf %[[E]]
// CHECK-NEXT:      %[[A:.*]] = arith.addf %[[E]],
// CHECK-NEXT:      linalg.yield %[[N]], %[[A]]
// CHECK-NOT:     linalg.generic
func.func private @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {hlo.kernel = "loop"} {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) {
  ^bb0(%2: f32, %3: f32):
    %4 = math.exp %2 : f32
    linalg.yield %4 : f32
  } -> tensor<4xf32>
  %5 = tensor.empty() : tensor<4xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1 : tensor<4xf32>) outs(%5 : tensor<4xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.negf %7 : f32
    linalg.yield %9 : f32
  } -> tensor<4xf32>
  %10 = tensor.empty() : tensor<4xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %x : tensor<4xf32>, tensor<4xf32>) outs(%10 : tensor<4xf32>) {
  ^bb0(%12: f32, %13: f32, %14: f32):
    %15 = arith.addf %12, %13 : f32
    linalg.yield %15 : f32
  } -> tensor<4xf32>
  func.return %6, %11 : tensor<4xf32>, tensor<4xf32>
}

// Index maps compose; an operand that is read twice at the same index is one operand.
// CHECK-LABEL: @composed
// CHECK:         affine_map<(d0, d1) -> ((d1 mod 5), ((d0 * 3) + 1))>
// CHECK-SAME:    ins(%x : tensor<5x7xf32>)
// CHECK:           arith.addf %[[X:.*]], %[[X]]
// CHECK-NOT:     linalg.generic
func.func private @composed(%x: tensor<5x7xf32>) -> tensor<2x4xf32> attributes {hlo.kernel = "loop"} {
  %0 = tensor.empty() : tensor<7x5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x7xf32>) outs(%0 : tensor<7x5xf32>) {
  ^bb0(%2: f32, %3: f32):
    linalg.yield %2 : f32
  } -> tensor<7x5xf32>
  %4 = tensor.empty() : tensor<2x4xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (((d0 * 3) + 1), (d1 mod 5))>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<7x5xf32>) outs(%4 : tensor<2x4xf32>) {
  ^bb0(%6: f32, %7: f32):
    linalg.yield %6 : f32
  } -> tensor<2x4xf32>
  %8 = tensor.empty() : tensor<2x4xf32>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5, %5 : tensor<2x4xf32>, tensor<2x4xf32>) outs(%8 : tensor<2x4xf32>) {
  ^bb0(%10: f32, %11: f32, %12: f32):
    %13 = arith.addf %10, %11 : f32
    linalg.yield %13 : f32
  } -> tensor<2x4xf32>
  func.return %9 : tensor<2x4xf32>
}

// Producers are also computed at computed indices, and starts become scalars.
// CHECK-LABEL: @computed_place
// CHECK:         %[[I:.*]] = tensor.extract %i[] : tensor<i32>
// CHECK-NEXT:    arith.addi %[[I]], %[[I]] : i32
// CHECK:         linalg.generic
// CHECK:           %[[X:.*]] = tensor.extract %x[
// CHECK-NEXT:      %[[N:.*]] = arith.negf %[[X]]
// CHECK-NEXT:      linalg.yield %[[N]]
// CHECK-NOT:     linalg.generic
func.func private @computed_place(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<2xf32> attributes {hlo.kernel = "loop"} {
  %0 = tensor.empty() : tensor<8xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.negf %1 : f32
    linalg.yield %3 : f32
  } -> tensor<8xf32>
  %4 = tensor.empty() : tensor<i32>
  %j = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%i, %i : tensor<i32>, tensor<i32>) outs(%4 : tensor<i32>) {
  ^bb0(%5: i32, %6: i32, %7: i32):
    %8 = arith.addi %5, %6 : i32
    linalg.yield %8 : i32
  } -> tensor<i32>
  %9 = tensor.extract %j[] : tensor<i32>
  %10 = arith.extsi %9 : i32 to i64
  %11 = arith.constant 0 : i64
  %12 = arith.maxsi %10, %11 : i64
  %13 = arith.constant 6 : i64
  %14 = arith.minsi %12, %13 : i64
  %15 = arith.index_cast %14 : i64 to index
  %16 = tensor.empty() : tensor<2xf32>
  %17 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%16 : tensor<2xf32>) {
  ^bb0(%18: f32):
    %19 = linalg.index 0 : index
    %20 = arith.addi %19, %15 : index
    %21 = tensor.extract %n[%20] : tensor<8xf32>
    linalg.yield %21 : f32
  } -> tensor<2xf32>
  func.return %17 : tensor<2xf32>
}

// A shift by a constant needs neither the comparison of its amount with the width nor the choices by it; by one that is
// not below the width it is zero.
// CHECK-LABEL: @shifts
// CHECK-NOT:       arith.cmpi
// CHECK:           %[[Y:.*]] = arith.shli %{{.*}}, %{{.*}} : i32
// CHECK-NOT:       arith.select
// CHECK:           linalg.yield %[[Y]], %zero : i32, i32
func.func private @shifts(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %width = arith.constant 32 : i32
  %large = arith.constant -1 : i32
  %0 = tensor.empty() : tensor<4xi32>
  %1:2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%0, %0 : tensor<4xi32>, tensor<4xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32):
    %inside = arith.cmpi ult, %three, %width : i32
    %amount = arith.select %inside, %three, %zero : i32
    %shifted = arith.shli %a, %amount : i32
    %y = arith.select %inside, %shifted, %zero : i32
    %outside = arith.cmpi ult, %large, %width : i32
    %z = arith.select %outside, %shifted, %zero : i32
    linalg.yield %y, %z : i32, i32
  } -> (tensor<4xi32>, tensor<4xi32>)
  func.return %1#0, %1#1 : tensor<4xi32>, tensor<4xi32>
}

// Nor does a division by a constant look for one by 0 or -1: LLVM multiplies by what it knows.
// CHECK-LABEL: @divided
// CHECK:         %[[SEVEN:.*]] = arith.constant 7 : i32
// CHECK-NOT:     arith.ori
// CHECK-NOT:     arith.andi
// CHECK:         arith.divsi %{{.*}}, %[[SEVEN]] : i32
// CHECK:         func.return
func.func private @divided(%x: tensor<4xi32>) -> tensor<4xi32> attributes {hlo.kernel = "loop"} {
  %seven = arith.constant 7 : i32
  %0 = tensor.empty() : tensor<4xi32>
  %1 = linalg.fill ins(%seven : i32) outs(%0 : tensor<4xi32>) -> tensor<4xi32>
  %2 = tensor.empty() : tensor<4xi32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %1 : tensor<4xi32>, tensor<4xi32>) outs(%2 : tensor<4xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %minus = arith.constant -1 : i32
    %least = arith.constant -2147483648 : i32
    %is_zero = arith.cmpi eq, %b, %zero : i32
    %is_least = arith.cmpi eq, %a, %least : i32
    %is_minus = arith.cmpi eq, %b, %minus : i32
    %overflows = arith.andi %is_least, %is_minus : i1
    %rare = arith.ori %is_zero, %overflows : i1
    %divisor = arith.select %rare, %one, %b : i32
    %quotient = arith.divsi %a, %divisor : i32
    %result = arith.select %is_zero, %minus, %quotient : i32
    linalg.yield %result : i32
  } -> tensor<4xi32>
  func.return %3 : tensor<4xi32>
}
