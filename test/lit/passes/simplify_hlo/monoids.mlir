// RUN: hlo-opt %s --simplify-hlo | filecheck %s
// A long reduction by several operations that commute is one of lanes, of which each takes many elements.

// CHECK-LABEL: func.func @rows
// CHECK:         %[[SPLIT:.*]] = hlo.reshape %x : (tensor<40x1024xf32>) -> tensor<40x1x16x64xf32>
// CHECK:         %[[LANES:.*]] = hlo.reduce(%[[SPLIT]] init: %[[ZERO:.*]]) across dimensions = [2] : {{.*}} -> tensor<40x1x64xf32>
// CHECK:         %[[FLAT:.*]] = hlo.reshape %[[LANES]] : (tensor<40x1x64xf32>) -> tensor<40x64xf32>
// CHECK:         hlo.reduce(%[[FLAT]] init: %[[ZERO]]) across dimensions = [1]
func.func @rows(%x: tensor<40x1024xf32>) -> tensor<40xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) across dimensions = [1] : (tensor<40x1024xf32>, tensor<f32>) -> tensor<40xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = hlo.add %a, %b : tensor<f32>
      %p = hlo.multiply %b, %a : tensor<f32>
      %r = hlo.subtract %s, %p : tensor<f32>
      hlo.return %r : tensor<f32>
    }
  func.return %0 : tensor<40xf32>
}

// A vector is divided for threads too. The rest beside whole parts is combined with their results.
// CHECK-LABEL: func.func @vector
// CHECK-DAG:     hlo.slice %x [0:9216]
// CHECK-DAG:     hlo.slice %x [9216:9220]
// CHECK-DAG:     hlo.reduce({{.*}}) across dimensions = [1] : (tensor<16x9x64xf32>, tensor<f32>) -> tensor<16x64xf32>
// CHECK:         %[[ALL:.*]] = hlo.concatenate
// CHECK:         -> tensor<f32>
func.func @vector(%x: tensor<9220xf32>) -> tensor<f32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<9220xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = hlo.add %a, %b : tensor<f32>
      %p = hlo.multiply %a, %b : tensor<f32>
      %r = hlo.subtract %s, %p : tensor<f32>
      hlo.return %r : tensor<f32>
    }
  func.return %0 : tensor<f32>
}

// Not where the initial value changes a number, or the order of two matters; one operation is known to the lowering.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: hlo.reduce(%x init: %{{.*}}) {{.*}}across dimensions = [0] : (tensor<9220xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NOT:     hlo.reduce
func.func @others(%x: tensor<9220xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %one = hlo.constant dense<1.0> : tensor<f32>
  %half = hlo.constant dense<0.5> : tensor<f32>
  %0 = hlo.reduce(%x init: %half) across dimensions = [0] : (tensor<9220xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = hlo.add %a, %b : tensor<f32>
      %p = hlo.multiply %a, %b : tensor<f32>
      %r = hlo.subtract %s, %p : tensor<f32>
      hlo.return %r : tensor<f32>
    }
  %1 = hlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<9220xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = hlo.subtract %a, %b : tensor<f32>
      %r = hlo.negate %s : tensor<f32>
      hlo.return %r : tensor<f32>
    }
  %2 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<9220xf32>, tensor<f32>) -> tensor<f32>
  func.return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// Nor where the reducer reads a value around it.
// CHECK-LABEL: func.func @around
// CHECK:         hlo.reduce(%x init: %{{.*}}) {{.*}}across dimensions = [0] : (tensor<9220xf32>, tensor<f32>) -> tensor<f32>
func.func @around(%x: tensor<9220xf32>, %y: tensor<f32>) -> tensor<f32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<9220xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = hlo.add %a, %b : tensor<f32>
      %r = hlo.multiply %s, %y : tensor<f32>
      hlo.return %r : tensor<f32>
    }
  func.return %0 : tensor<f32>
}
