// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @foo(%x: tensor<i64>) -> tensor<i64> { return %x : tensor<i64> }
func.func @pair() -> (tensor<i64>, tensor<i64>) {
  %0 = stablehlo.constant dense<1> : tensor<i64>
  return %0, %0 : tensor<i64>, tensor<i64>
}
func.func @main(%x: tensor<i64>, %f: tensor<f32>) {
  // expected-error@+1 {{has no programs}}
  "interpreter.run_parallel"() {programs = []} : () -> ()
  // expected-error@+1 {{has replicas of [1, 2] partitions, expected one number}}
  %0:3 = "interpreter.run_parallel"(%x, %x, %x) {programs = [[@foo], [@foo, @foo]]} : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>)
  // expected-error@+1 {{runs '@bar', which is not defined}}
  "interpreter.run_parallel"() {programs = [[@bar]]} : () -> ()
  // expected-error@+1 {{has 2 operands, its programs 1}}
  %1 = "interpreter.run_parallel"(%x, %x) {programs = [[@foo]]} : (tensor<i64>, tensor<i64>) -> tensor<i64>
  // expected-error@+1 {{has 0 results, its programs 1}}
  "interpreter.run_parallel"(%x) {programs = [[@foo]]} : (tensor<i64>) -> ()
  // expected-error@+1 {{has operands that differ from its programs' at 0: tensor<f32> and tensor<i64>}}
  %2 = "interpreter.run_parallel"(%f) {programs = [[@foo]]} : (tensor<f32>) -> tensor<i64>
  // expected-error@+1 {{has an empty infeed, which is to be left out}}
  %3 = "interpreter.run_parallel"(%x) {infeed = [], programs = [[@foo]]} : (tensor<i64>) -> tensor<i64>
  // expected-error@+1 {{feeds from '@pair', which does not return one tensor}}
  %4 = "interpreter.run_parallel"(%x) {infeed = [@pair], programs = [[@foo]]} : (tensor<i64>) -> tensor<i64>
  // expected-error@+1 {{takes tensor<i64> and gives tensor<f32>}}
  %5 = "interpreter.probe"(%x) {probe_id = "a"} : (tensor<i64>) -> tensor<f32>
  return
}
