// RUN: hlo-opt %s -p 'expand-math{scalings=true slow-subnormals=true}' | filecheck %s
// RUN: hlo-opt %s -p 'expand-math{slow-subnormals=true vector-bits=256}' | filecheck %s --check-prefix=SHORT

// A power that is only added: where it is subnormal, its bits are an integer, and no operation of floats makes it.
// CHECK-LABEL: func.func @summed
// CHECK:         call @xhlo_math_exp_summed_f32
// A product with a subnormal number would be slow itself.
// CHECK-LABEL: func.func @multiplied
// CHECK:         call @xhlo_math_exp_f32
// CHECK:       func.func private @xhlo_math_exp_summed_f32(%{{.*}}: f32) -> f32 attributes {xhlo.inline}
// CHECK:         arith.constant -8.733654e+01 : f32
// CHECK-NEXT:    [[SMALL:%.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK:         [[N:%.*]] = arith.select [[SMALL]], %{{.*}}, %{{.*}} : i32
// CHECK:         [[SCALED:%.*]] = cpu.scale %{{.*}}, [[N]] : f32
// CHECK:         [[INTEGER:%.*]] = cpu.nearest [[SCALED]] : f32 to i32
// CHECK:         arith.select [[SMALL]], [[INTEGER]], %{{.*}} : i32
// SHORT:       func.func private @xhlo_math_exp_summed_f32
// SHORT-NOT:     cpu.scale
// SHORT-NOT:     cpu.nearest
func.func @summed(%x: f32, %y: f32) -> f32 {
  %0 = math.exp %x : f32
  %1 = arith.addf %0, %y : f32
  func.return %1 : f32
}

func.func @multiplied(%x: f32, %y: f32) -> f32 {
  %0 = math.exp %x : f32
  %1 = arith.mulf %0, %y : f32
  func.return %1 : f32
}
