// RUN: hlo-opt %s --verify-roundtrip > /dev/null
// RUN: hlo-run --target=reference %s | filecheck %s

// Grids of processes that a test program starts: collectives, channels between different programs, the infeed; and
// tensors that it prints and keeps.

// CHECK: %i = tensor<2xi64> [5, 6]
module @grids {
  func.func @all_gather(%arg0 : tensor<2x2xi64>) -> tensor<2x4xi64> {
    %result = "stablehlo.all_gather"(%arg0) { all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64> } : (tensor<2x2xi64>) -> tensor<2x4xi64>
    return %result : tensor<2x4xi64>
  }
  func.func @send(%operand : tensor<2x2xi64>, %token : !stablehlo.token) -> !stablehlo.token {
    %result = "stablehlo.send"(%operand, %token) { channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true } : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token
    return %result : !stablehlo.token
  }
  func.func @recv(%token : !stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token) {
    %r:2 = "stablehlo.recv"(%token) { channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true } : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
    return %r#0, %r#1 : tensor<2x2xi64>, !stablehlo.token
  }
  func.func @infeed(%token : !stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token, tensor<2xi64>) {
    %a:2 = "stablehlo.infeed"(%token) : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
    %b:2 = "stablehlo.infeed"(%token) : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    %t = "stablehlo.outfeed"(%a#0, %token) : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token
    return %a#0, %t, %b#0 : tensor<2x2xi64>, !stablehlo.token, tensor<2xi64>
  }
  func.func @queue0() -> tensor<2x2xi64> {
    %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    return %0 : tensor<2x2xi64>
  }
  func.func @queue1() -> tensor<2xi64> {
    %0 = stablehlo.constant dense<[5, 6]> : tensor<2xi64>
    return %0 : tensor<2xi64>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    %1 = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
    %t = stablehlo.after_all : !stablehlo.token
    %results:2 = "interpreter.run_parallel"(%0, %1) { programs=[[@all_gather], [@all_gather]] } : (tensor<2x2xi64>, tensor<2x2xi64>) -> (tensor<2x4xi64>, tensor<2x4xi64>)
    check.expect_eq_const %results#0, dense<[[1, 2, 5, 6], [3, 4, 7, 8]]> : tensor<2x4xi64>
    check.expect_eq_const %results#1, dense<[[1, 2, 5, 6], [3, 4, 7, 8]]> : tensor<2x4xi64>
    %s:3 = "interpreter.run_parallel"(%t, %0, %t) {programs=[[@recv], [@send]]} : (!stablehlo.token, tensor<2x2xi64>, !stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token, !stablehlo.token)
    check.expect_eq %s#0, %0 : tensor<2x2xi64>
    %i:3 = "interpreter.run_parallel"(%t) {infeed=[@queue0, @queue1], programs=[[@infeed]]} : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token, tensor<2xi64>)
    check.expect_eq_const %i#2, dense<[5, 6]> : tensor<2xi64>
    %p = interpreter.print %i#2 : tensor<2xi64>
    %q = interpreter.probe %p, probe_id = "a/b" : tensor<2xi64>
    check.expect_serialized_eq %q, probe_id = "a/b" : tensor<2xi64>
    func.return
  }
}
