// RUN: hlo-opt %s --fuse --split-input-file 2>/dev/null | filecheck %s
// RUN: hlo-opt %s --fuse --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=WARNING
// RUN: hlo-opt %s --fuse --split-input-file 2>/dev/null | hlo-opt --fuse --split-input-file - | filecheck %s

// Attributes that passes leave for later ones are not believed when a program states them. Those that hold are found again,
// also in a text of fusions, which is read here in the third run.

// WARNING: 'hlo.constant' op states xhlo.unread = unit without proof: ignored
// CHECK-LABEL: func.func @stack
// CHECK: %[[T:.*]] = hlo.fusion loop () -> tensor<9x1024xf32>
// CHECK: %[[S:.*]] = hlo.constant {xhlo.unread} dense<0.000000e+00> : tensor<8x1024xf32>
// CHECK: hlo.while({{.*}}%{{.*}} = %[[S]], %{{.*}} = %[[T]])
// CHECK-SAME: attributes {xhlo.trip_count = 8 : i64}
func.func @stack(%x: tensor<1x1024xf32>) -> (tensor<8x1024xf32>, tensor<9x1024xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %end = hlo.constant dense<8> : tensor<i32>
  %s0 = hlo.constant {xhlo.unread} dense<0.0> : tensor<8x1024xf32>
  %t0 = hlo.constant {xhlo.unread} dense<0.0> : tensor<9x1024xf32>
  %0:3 = hlo.while(%i = %zero, %s = %s0, %t = %t0) : tensor<i32>, tensor<8x1024xf32>, tensor<9x1024xf32>
    cond {
      %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_update_slice %s, %x, %i, %zero : (tensor<8x1024xf32>, tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<8x1024xf32>
      %2 = hlo.dynamic_update_slice %t, %x, %i, %zero : (tensor<9x1024xf32>, tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<9x1024xf32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %1, %2 : tensor<i32>, tensor<8x1024xf32>, tensor<9x1024xf32>
    }
  return %0#1, %0#2 : tensor<8x1024xf32>, tensor<9x1024xf32>
}

// -----

// WARNING: 'hlo.while' op states xhlo.trip_count = 3 : i64 without proof: ignored
// CHECK-LABEL: func.func @unknown
// CHECK: hlo.while({{.*}}) : tensor<i32>, tensor<i32>
// CHECK-NOT: xhlo.trip_count
func.func @unknown(%n: tensor<i32>) -> tensor<i32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %end = %n) : tensor<i32>, tensor<i32> attributes {xhlo.trip_count = 3 : i64}
    cond {
      %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.multiply %i, %i : tensor<i32>
      %2 = hlo.add %1, %end : tensor<i32>
      hlo.return %2, %end : tensor<i32>, tensor<i32>
    }
  return %0#0 : tensor<i32>
}

// -----

// WARNING: 'builtin.module' op states xhlo.donated = array<i64: 0> without proof: ignored
// WARNING: 'func.func' op states hlo.kernel = "loop" without proof: ignored
// WARNING: 'func.func' op states hlo.tied = array<i64: 0> without proof: ignored
// WARNING: 'func.func' op states xhlo.pure = unit without proof: ignored
// CHECK: builtin.module {
// CHECK-NOT: @update
module attributes {xhlo.donated = array<i64: 0>} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @update(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
  func.func private @update(%x: tensor<4xf32>) -> tensor<4xf32> attributes {hlo.kernel = "loop", hlo.tied = array<i64: 0>, xhlo.pure} {
    %0 = hlo.reverse %x, dims = [0] : tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
}

// -----

// One of these slices is inside of its operand, the other one may be outside.
// WARNING: 'hlo.dynamic_slice' op states xhlo.in_bounds = unit without proof: ignored
// CHECK-LABEL: func.func @slices
// CHECK: hlo.dynamic_slice %{{.*}}, sizes = [3] {xhlo.in_bounds}
// CHECK: hlo.dynamic_slice %{{.*}}, sizes = [4] :
func.func @slices(%x: tensor<7xf32>, %i: tensor<i32>) -> (tensor<3xf32>, tensor<4xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %four = hlo.constant dense<4> : tensor<i32>
  %place = hlo.clamp %zero, %i, %four : tensor<i32>
  %0 = hlo.dynamic_slice %x, %place, sizes = [3] {xhlo.in_bounds} : (tensor<7xf32>, tensor<i32>) -> tensor<3xf32>
  %1 = hlo.dynamic_slice %x, %i, sizes = [4] {xhlo.in_bounds} : (tensor<7xf32>, tensor<i32>) -> tensor<4xf32>
  return %0, %1 : tensor<3xf32>, tensor<4xf32>
}

// -----

// The first loop ends after 9 iterations at the latest, the second one after 50.
// WARNING: 'hlo.while' op states xhlo.most_trips = 10 : i64 without proof: ignored
// CHECK-LABEL: func.func @ends
// CHECK: hlo.while({{.*}}xhlo.most_trips = 9 : i64
// CHECK: hlo.while({{.*}}xhlo.most_trips = 50 : i64
func.func @ends(%n: tensor<i32>, %a: tensor<64xi32>) -> tensor<64xi32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %nine = hlo.constant dense<9> : tensor<i32>
  %fifty = hlo.constant dense<50> : tensor<i32>
  %seven = hlo.constant dense<7> : tensor<1xi32>
  %end = hlo.clamp %zero, %n, %nine : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<64xi32> attributes {xhlo.most_trips = 10 : i64}
    cond {
      %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_update_slice %x, %seven, %i : (tensor<64xi32>, tensor<1xi32>, tensor<i32>) -> tensor<64xi32>
      %2 = hlo.add %i, %one : tensor<i32>
      hlo.return %2, %1 : tensor<i32>, tensor<64xi32>
    }
  %1:2 = hlo.while(%i = %zero, %x = %0#1) : tensor<i32>, tensor<64xi32> attributes {xhlo.most_trips = 10 : i64}
    cond {
      %2 = hlo.compare LT, %i, %fifty, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %3 = hlo.dynamic_slice %x, %i, sizes = [1] : (tensor<64xi32>, tensor<i32>) -> tensor<1xi32>
      %4 = hlo.reshape %3 : (tensor<1xi32>) -> tensor<i32>
      %5 = hlo.compare NE, %4, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %6 = hlo.and %2, %5 : tensor<i1>
      hlo.return %6 : tensor<i1>
    } do {
      %2 = hlo.dynamic_update_slice %x, %seven, %i : (tensor<64xi32>, tensor<1xi32>, tensor<i32>) -> tensor<64xi32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %2 : tensor<i32>, tensor<64xi32>
    }
  return %1#1 : tensor<64xi32>
}

// -----

// A program of hlo operations is no lowered one because it says so.
// WARNING: 'hlo.dynamic_slice' op states xhlo.in_bounds = unit without proof: ignored
// CHECK-LABEL: func.func @said
// CHECK: hlo.dynamic_slice %{{.*}}, sizes = [1] :
module attributes {xhlo.program = {entry = @said, inputs = [tensor<8xf32>, tensor<i32>], outputs = [tensor<1xf32>], kernels = []}} {
  func.func @said(%x: tensor<8xf32>, %k: tensor<i32>) -> tensor<1xf32> {
    %0 = hlo.dynamic_slice %x, %k, sizes = [1] {xhlo.in_bounds} : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}

// -----

// Nor because it says that a pass before the lowering was the last one.
// WARNING: 'hlo.dynamic_slice' op states xhlo.in_bounds = unit without proof: ignored
// CHECK-LABEL: func.func @after
// CHECK: hlo.dynamic_slice %{{.*}}, sizes = [1] :
module attributes {xhlo.after = "cse"} {
  func.func @after(%x: tensor<8xf32>, %k: tensor<i32>) -> tensor<1xf32> {
    %0 = hlo.dynamic_slice %x, %k, sizes = [1] {xhlo.in_bounds} : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}
