// RUN: hlo-opt %s --pass-pipeline="decompose-hlo{native-calls=true}" | filecheck %s

// A few elements of an order are found by counting, two bits of their keys at a time.

// CHECK-LABEL: func.func @median
// CHECK-SAME:    (%x: tensor<9000xi32>) -> tensor<1xi32>
// CHECK-NOT:     hlo.sort
// CHECK:         %[[START:.*]] = hlo.constant dense<-2147483648> : tensor<i32>
// CHECK:         %[[LOOP:.*]]:2 = hlo.while(%[[AT:.*]] = %{{.*}}, %[[BOUND:.*]] = %[[START]]) : tensor<i32>, tensor<i32>
// CHECK:         do {
// CHECK-COUNT-3:   hlo.compare LT, %x, %{{.*}} : (tensor<9000xi32>, tensor<9000xi32>) -> tensor<9000xi1>
// CHECK:         }
// CHECK-NEXT:    %[[ROW:.*]] = hlo.reshape %[[LOOP]]#1 : (tensor<i32>) -> tensor<1xi32>
// CHECK-NEXT:    func.return %[[ROW]] : tensor<1xi32>
func.func @median(%x: tensor<9000xi32>) -> tensor<1xi32> {
  %0 = "hlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %2 = hlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %2 : tensor<i1>
  }) : (tensor<9000xi32>) -> tensor<9000xi32>
  %1 = hlo.slice %0 [4500:4501] : (tensor<9000xi32>) -> tensor<1xi32>
  func.return %1 : tensor<1xi32>
}

// Something else uses the order.

// CHECK-LABEL: func.func @order
// CHECK:         hlo.sort
// CHECK-NOT:     hlo.while
func.func @order(%x: tensor<9000xi32>) -> (tensor<9000xi32>, tensor<1xi32>) {
  %0 = "hlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %2 = hlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %2 : tensor<i1>
  }) : (tensor<9000xi32>) -> tensor<9000xi32>
  %1 = hlo.slice %0 [4500:4501] : (tensor<9000xi32>) -> tensor<1xi32>
  func.return %0, %1 : tensor<9000xi32>, tensor<1xi32>
}
