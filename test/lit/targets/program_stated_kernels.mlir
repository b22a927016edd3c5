// RUN: hlo-opt %s --emit=llvm -o /dev/null 2>&1 | filecheck %s

// Kernels of hlo operations are not believed either: slices are inside their operands in each call, or may be outside.

// CHECK-NOT: :39:10: warning
// CHECK: :43:10: warning: 'hlo.dynamic_slice' op states xhlo.in_bounds = unit without proof: ignored
// CHECK-NOT: warning
module attributes {xhlo.after = "outline-kernels"} {
  func.func @main(%x: tensor<8xf32>, %k: tensor<i32>) -> (tensor<1xf32>, tensor<1xf32>) {
    %zero = func.call @zero() : () -> tensor<i32>
    %first = func.call @may_leave(%x, %zero) : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
    %0:2 = hlo.while(%i = %zero, %s = %first) : tensor<i32>, tensor<1xf32>
      cond {
        %1 = func.call @before_eight(%i) : (tensor<i32>) -> tensor<i1>
        hlo.return %1 : tensor<i1>
      } do {
        %1 = func.call @stays_inside(%x, %i) : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
        %2 = func.call @next(%i) : (tensor<i32>) -> tensor<i32>
        hlo.return %2, %1 : tensor<i32>, tensor<1xf32>
      }
    %3 = func.call @may_leave(%x, %k) : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
    func.return %0#1, %3 : tensor<1xf32>, tensor<1xf32>
  }
  func.func private @zero() -> tensor<i32> attributes {hlo.kernel = "loop"} {
    %0 = hlo.constant dense<0> : tensor<i32>
    func.return %0 : tensor<i32>
  }
  func.func private @before_eight(%i: tensor<i32>) -> tensor<i1> attributes {hlo.kernel = "loop"} {
    %0 = hlo.constant dense<8> : tensor<i32>
    %1 = hlo.compare LT, %i, %0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    func.return %1 : tensor<i1>
  }
  func.func private @next(%i: tensor<i32>) -> tensor<i32> attributes {hlo.kernel = "loop"} {
    %0 = hlo.constant dense<1> : tensor<i32>
    %1 = hlo.add %i, %0 : tensor<i32>
    func.return %1 : tensor<i32>
  }
  func.func private @stays_inside(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<1xf32> attributes {hlo.kernel = "loop"} {
    %0 = hlo.dynamic_slice %x, %i, sizes = [1] {xhlo.in_bounds} : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
    func.return %0 : tensor<1xf32>
  }
  func.func private @may_leave(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<1xf32> attributes {hlo.kernel = "loop"} {
    %0 = hlo.dynamic_slice %x, %i, sizes = [1] {xhlo.in_bounds} : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
    func.return %0 : tensor<1xf32>
  }
}
