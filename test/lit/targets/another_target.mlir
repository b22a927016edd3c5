// RUN: not hlo-opt --lower %s 2>&1 | filecheck %s
// RUN: not hlo-opt --lower --target=nvptx %s 2>&1 | filecheck %s
// RUN: not hlo-run %s 2>&1 | filecheck %s

// A module that has been through a pass that is none of the target's is refused.

// CHECK: another_target.mlir:8:1: error: 'builtin.module' op was lowered for another target: its last pass, 'map-to-tiles', is none of this target's
builtin.module attributes {xhlo.after = "map-to-tiles"} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    func.return %x : tensor<4xf32>
  }
}
