// RUN: hlo-opt %s --convert-to-llvm | filecheck %s

// CHECK-LABEL: llvm.func @accumulate
// CHECK:         %[[V:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK-NEXT:    %[[ONE:.*]] = llvm.insertelement %x, %{{.*}}[%{{.*}} : i64] : vector<16xf32>
// CHECK-NEXT:    %[[ALL:.*]] = llvm.shufflevector %[[ONE]]
// CHECK-NEXT:    %[[F:.*]] = llvm.call_intrinsic "llvm.fma.v16f32"(%[[V]], %[[ALL]], %[[V]])
// CHECK-NEXT:    %[[S:.*]] = llvm.call_intrinsic "llvm.vector.reduce.fadd.v16f32"(%x, %[[F]])
// CHECK-SAME:      #llvm.fastmath<reassoc>
// CHECK-NEXT:    llvm.return %[[S]] : f32
func.func @accumulate(%m: memref<64xf32>, %i: index, %x: f32) -> f32 {
  %v = vector.load %m[%i] : memref<64xf32>, vector<16xf32>
  %b = vector.broadcast %x : f32 to vector<16xf32>
  %f = vector.fma %v, %b, %v : vector<16xf32>
  %s = "vector.reduction"(%f, %x) <{kind = #vector.kind<add>, fastmath = #arith.fastmath<reassoc>}>
    : (vector<16xf32>, f32) -> f32
  func.return %s : f32
}
