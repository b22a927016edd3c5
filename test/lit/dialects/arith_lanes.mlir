// Operations of arith on vectors, which xDSL has on scalars only.
// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt %s --print-generic | hlo-opt | filecheck %s
// RUN: hlo-opt %s --convert-to-llvm | filecheck %s --check-prefix=LLVM

// CHECK-LABEL: @lanes
// CHECK:         %0 = arith.cmpf ogt, %x, %y : vector<4xf32>
// CHECK-NEXT:    %1 = arith.select %0, %x, %y {only} : vector<4xi1>, vector<4xf32>
// CHECK-NEXT:    %2 = arith.select %c, %x, %1 : vector<4xf32>
// CHECK-NEXT:    %3 = arith.cmpi ult, %i, %i : vector<4xi32>
// CHECK-NEXT:    %4 = arith.extsi %a : vector<4xi8> to vector<4xi32>
// CHECK-NEXT:    %5 = arith.extui %a : vector<4xi8> to vector<4xi32>
// CHECK-NEXT:    %6 = arith.trunci %i : vector<4xi32> to vector<4xi8>
// CHECK-NEXT:    %7 = arith.sitofp %a : vector<4xi8> to vector<4xf32>
// CHECK-NEXT:    %8 = arith.uitofp %a : vector<4xi8> to vector<4xf32>
// CHECK-NEXT:    %9 = arith.fptosi %x : vector<4xf32> to vector<4xi32>
// CHECK-NEXT:    %10 = arith.fptoui %x : vector<4xf32> to vector<4xi32>
// CHECK-NEXT:    %11 = arith.cmpf oeq, %p, %p fastmath<fast> : f32
// CHECK-NEXT:    %12 = arith.select %11, %p, %p : f32
// LLVM:          [[MASK:%.*]] = llvm.fcmp "ogt" %x, %y : vector<4xf32>
// LLVM-NEXT:     llvm.select [[MASK]], %x, %y : vector<4xi1>, vector<4xf32>
// LLVM-NEXT:     llvm.select %c, %x
// LLVM-NEXT:     llvm.icmp "ult" %i, %i : vector<4xi32>
// LLVM-NEXT:     llvm.sext %a : vector<4xi8> to vector<4xi32>
// LLVM-NEXT:     llvm.zext %a : vector<4xi8> to vector<4xi32>
// LLVM-NEXT:     llvm.trunc %i : vector<4xi32> to vector<4xi8>
// LLVM-NEXT:     llvm.sitofp %a : vector<4xi8> to vector<4xf32>
// LLVM-NEXT:     llvm.uitofp %a : vector<4xi8> to vector<4xf32>
func.func private @lanes(%x: vector<4xf32>, %y: vector<4xf32>, %a: vector<4xi8>, %i: vector<4xi32>, %p: f32, %c: i1) {
  %0 = arith.cmpf ogt, %x, %y : vector<4xf32>
  %1 = arith.select %0, %x, %y {only} : vector<4xi1>, vector<4xf32>
  %2 = arith.select %c, %x, %1 : vector<4xf32>
  %3 = arith.cmpi ult, %i, %i : vector<4xi32>
  %4 = arith.extsi %a : vector<4xi8> to vector<4xi32>
  %5 = arith.extui %a : vector<4xi8> to vector<4xi32>
  %6 = arith.trunci %i : vector<4xi32> to vector<4xi8>
  %7 = arith.sitofp %a : vector<4xi8> to vector<4xf32>
  %8 = arith.uitofp %a : vector<4xi8> to vector<4xf32>
  %9 = arith.fptosi %x : vector<4xf32> to vector<4xi32>
  %10 = arith.fptoui %x : vector<4xf32> to vector<4xi32>
  %11 = arith.cmpf oeq, %p, %p fastmath<fast> : f32
  %12 = arith.select %11, %p, %p : f32
  func.return
}
