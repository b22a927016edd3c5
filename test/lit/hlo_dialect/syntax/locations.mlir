// Locations in all forms, with aliases after their uses.
// RUN: hlo-opt %s --print-locations | filecheck %s
// RUN: hlo-opt %s --print-locations | hlo-opt --print-locations | filecheck %s

// CHECK-LABEL: func.func @locations
func.func @locations(%x: tensor<4xf32>) {
  // CHECK: hlo.abs %x : tensor<4xf32> loc(#[[PLACE:.*]])
  %0 = stablehlo.abs %x : tensor<4xf32> loc("model.py":3:7)
  // CHECK: hlo.abs %0 : tensor<4xf32> loc(#[[NAME:.*]])
  %1 = stablehlo.abs %0 : tensor<4xf32> loc(#loc2)
  // CHECK: hlo.abs %1 : tensor<4xf32> loc(#[[CALL:.*]])
  %2 = stablehlo.abs %1 : tensor<4xf32> loc(#loc3)
  // CHECK: hlo.abs %2 : tensor<4xf32> loc(#[[FUSED:.*]])
  %3 = stablehlo.abs %2 : tensor<4xf32> loc(fused<"xhlo">[#loc2, "model.py":4:1 to 5:2])
  // CHECK: hlo.abs %3 : tensor<4xf32> loc(unknown)
  %4 = stablehlo.abs %3 : tensor<4xf32> loc(unknown)
  return
}
#loc3 = loc(callsite(#loc2 at #loc1))
#loc2 = loc("jit(f)/abs"(#loc1))
#loc1 = loc("model.py":3:7)

// CHECK: #[[PLACE]] = loc("model.py":3:7)
// CHECK: #[[NAME]] = loc("jit(f)/abs"(#[[PLACE]]))
// CHECK: #[[CALL]] = loc(callsite(#[[NAME]] at #[[PLACE]]))
// CHECK: #[[END:.*]] = loc("model.py":4:1)
// CHECK: #[[FUSED]] = loc(fused<"xhlo">[#[[NAME]], #[[END]]])
