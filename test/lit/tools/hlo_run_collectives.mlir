// RUN: hlo-run --target=reference %s

// Collectives in the grids of a test program: reductions to one process, chains of permutes, groups by parts of axes.

func.func @reduce(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = "stablehlo.collective_reduce"(%x) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xi64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
func.func @permute(%x : tensor<2xi64>) -> tensor<2xi64> {
  %0 = "stablehlo.collective_permute"(%x) { source_target_pairs = dense<[[0, 1], [1, 2], [3, 3]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0> } : (tensor<2xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func @gather(%x : tensor<1xi64>) -> tensor<2xi64> {
  %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>} : (tensor<1xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func @main() {
  %0 = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %1 = stablehlo.constant dense<[5, 6, 7, 8]> : tensor<4xi64>
  %r:2 = "interpreter.run_parallel"(%0, %1) {programs=[[@reduce], [@reduce]]} : (tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
  check.expect_eq_const %r#0, dense<[6, 8, 10, 12]> : tensor<4xi64>
  check.expect_eq_const %r#1, dense<0> : tensor<4xi64>
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %p:4 = "interpreter.run_parallel"(%a, %b, %a, %b) {programs=[[@permute, @permute, @permute, @permute]]} : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %p#0, dense<0> : tensor<2xi64>
  check.expect_eq %p#1, %a : tensor<2xi64>
  check.expect_eq %p#2, %b : tensor<2xi64>
  check.expect_eq %p#3, %b : tensor<2xi64>
  %z = stablehlo.constant dense<0> : tensor<1xi64>
  %o = stablehlo.constant dense<1> : tensor<1xi64>
  %g:8 = "interpreter.run_parallel"(%z, %o, %z, %o, %o, %o, %z, %z) {programs=[[@gather], [@gather], [@gather], [@gather], [@gather], [@gather], [@gather], [@gather]]} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %g#0, dense<[0, 0]> : tensor<2xi64>
  check.expect_eq_const %g#5, dense<[1, 0]> : tensor<2xi64>
  return
}
