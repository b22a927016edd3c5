// RUN: hlo-opt %s --convert-loops-to-cf='vector-bits=256' | filecheck %s
// RUN: hlo-opt %s --convert-loops-to-cf | filecheck %s --check-prefix=GATHERS
// GATHERS-NOT: memref.alloca

// Places that take long to compute are stored by a loop before, from which the gathers load them. Comparisons of a place
// with its bounds load it too, and several vectors at once were for the chain that is no longer there.
// CHECK-LABEL: func.func @long
// CHECK:         %[[PLACES:.*]] = memref.alloca() : memref<16xi32>
// CHECK-COUNT-25: arith.muli
// CHECK:         memref.store %{{.*}}, %[[PLACES]]
// CHECK:         cf.cond_br {{.*}} {xhlo.parallel}
// CHECK:         %[[PLACE:.*]] = memref.load %[[PLACES]]
// CHECK-NEXT:    arith.cmpi sge, %[[PLACE]]
// CHECK-NEXT:    arith.maxsi %[[PLACE]]
// CHECK-NOT:     arith.muli
// CHECK:         cf.cond_br {{.*}} {xhlo.parallel}
// CHECK:         func.return
func.func @long(%at_all: memref<16xi32>, %x: memref<100xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %odd = arith.constant 1327217885 : i32
  %zero = arith.constant 0 : i32
  %last = arith.constant 99 : i32
  %other = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %at = memref.load %at_all[%i] : memref<16xi32>
    %m0 = arith.muli %at, %odd : i32
    %mx0 = arith.xori %m0, %at : i32
    %m1 = arith.muli %mx0, %odd : i32
    %mx1 = arith.xori %m1, %mx0 : i32
    %m2 = arith.muli %mx1, %odd : i32
    %mx2 = arith.xori %m2, %mx1 : i32
    %m3 = arith.muli %mx2, %odd : i32
    %mx3 = arith.xori %m3, %mx2 : i32
    %m4 = arith.muli %mx3, %odd : i32
    %mx4 = arith.xori %m4, %mx3 : i32
    %m5 = arith.muli %mx4, %odd : i32
    %mx5 = arith.xori %m5, %mx4 : i32
    %m6 = arith.muli %mx5, %odd : i32
    %mx6 = arith.xori %m6, %mx5 : i32
    %m7 = arith.muli %mx6, %odd : i32
    %mx7 = arith.xori %m7, %mx6 : i32
    %m8 = arith.muli %mx7, %odd : i32
    %mx8 = arith.xori %m8, %mx7 : i32
    %m9 = arith.muli %mx8, %odd : i32
    %mx9 = arith.xori %m9, %mx8 : i32
    %m10 = arith.muli %mx9, %odd : i32
    %mx10 = arith.xori %m10, %mx9 : i32
    %m11 = arith.muli %mx10, %odd : i32
    %mx11 = arith.xori %m11, %mx10 : i32
    %m12 = arith.muli %mx11, %odd : i32
    %mx12 = arith.xori %m12, %mx11 : i32
    %m13 = arith.muli %mx12, %odd : i32
    %mx13 = arith.xori %m13, %mx12 : i32
    %m14 = arith.muli %mx13, %odd : i32
    %mx14 = arith.xori %m14, %mx13 : i32
    %m15 = arith.muli %mx14, %odd : i32
    %mx15 = arith.xori %m15, %mx14 : i32
    %m16 = arith.muli %mx15, %odd : i32
    %mx16 = arith.xori %m16, %mx15 : i32
    %m17 = arith.muli %mx16, %odd : i32
    %mx17 = arith.xori %m17, %mx16 : i32
    %m18 = arith.muli %mx17, %odd : i32
    %mx18 = arith.xori %m18, %mx17 : i32
    %m19 = arith.muli %mx18, %odd : i32
    %mx19 = arith.xori %m19, %mx18 : i32
    %m20 = arith.muli %mx19, %odd : i32
    %mx20 = arith.xori %m20, %mx19 : i32
    %m21 = arith.muli %mx20, %odd : i32
    %mx21 = arith.xori %m21, %mx20 : i32
    %m22 = arith.muli %mx21, %odd : i32
    %mx22 = arith.xori %m22, %mx21 : i32
    %m23 = arith.muli %mx22, %odd : i32
    %mx23 = arith.xori %m23, %mx22 : i32
    %m24 = arith.muli %mx23, %odd : i32
    %mx24 = arith.xori %m24, %mx23 : i32
    %inside = arith.cmpi sge, %mx24, %zero : i32
    %least = arith.maxsi %mx24, %zero : i32
    %most = arith.minsi %least, %last : i32
    %k = arith.index_cast %most : i32 to index
    %v = memref.load %x[%k] : memref<100xf32>
    %u = arith.select %inside, %v, %other : f32
    memref.store %u, %y[%i] : memref<16xf32>
  } {xhlo.parallel, xhlo.interleave = 2 : i64}
  func.return
}

// Places of few operations, a chain of which more than the place is needed, and iterations that may depend on each other.
// CHECK-LABEL: func.func @short
// CHECK-NOT:     memref.alloca
// CHECK-LABEL: func.func @needed
// CHECK-NOT:     memref.alloca
// CHECK-LABEL: func.func @serial
// CHECK-NOT:     memref.alloca
func.func @short(%at_all: memref<16xi32>, %x: memref<100xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %odd = arith.constant 1327217885 : i32
  %zero = arith.constant 0 : i32
  %last = arith.constant 99 : i32
  %other = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %at = memref.load %at_all[%i] : memref<16xi32>
    %m0 = arith.muli %at, %odd : i32
    %mx0 = arith.xori %m0, %at : i32
    %m1 = arith.muli %mx0, %odd : i32
    %mx1 = arith.xori %m1, %mx0 : i32
    %m2 = arith.muli %mx1, %odd : i32
    %mx2 = arith.xori %m2, %mx1 : i32
    %m3 = arith.muli %mx2, %odd : i32
    %mx3 = arith.xori %m3, %mx2 : i32
    %inside = arith.cmpi sge, %mx3, %zero : i32
    %least = arith.maxsi %mx3, %zero : i32
    %most = arith.minsi %least, %last : i32
    %k = arith.index_cast %most : i32 to index
    %v = memref.load %x[%k] : memref<100xf32>
    %u = arith.select %inside, %v, %other : f32
    memref.store %u, %y[%i] : memref<16xf32>
  } {xhlo.parallel, xhlo.interleave = 2 : i64}
  func.return
}
func.func @needed(%at_all: memref<16xi32>, %x: memref<100xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %odd = arith.constant 1327217885 : i32
  %zero = arith.constant 0 : i32
  %last = arith.constant 99 : i32
  %other = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %at = memref.load %at_all[%i] : memref<16xi32>
    %m0 = arith.muli %at, %odd : i32
    %mx0 = arith.xori %m0, %at : i32
    %m1 = arith.muli %mx0, %odd : i32
    %mx1 = arith.xori %m1, %mx0 : i32
    %m2 = arith.muli %mx1, %odd : i32
    %mx2 = arith.xori %m2, %mx1 : i32
    %m3 = arith.muli %mx2, %odd : i32
    %mx3 = arith.xori %m3, %mx2 : i32
    %m4 = arith.muli %mx3, %odd : i32
    %mx4 = arith.xori %m4, %mx3 : i32
    %m5 = arith.muli %mx4, %odd : i32
    %mx5 = arith.xori %m5, %mx4 : i32
    %m6 = arith.muli %mx5, %odd : i32
    %mx6 = arith.xori %m6, %mx5 : i32
    %m7 = arith.muli %mx6, %odd : i32
    %mx7 = arith.xori %m7, %mx6 : i32
    %m8 = arith.muli %mx7, %odd : i32
    %mx8 = arith.xori %m8, %mx7 : i32
    %m9 = arith.muli %mx8, %odd : i32
    %mx9 = arith.xori %m9, %mx8 : i32
    %m10 = arith.muli %mx9, %odd : i32
    %mx10 = arith.xori %m10, %mx9 : i32
    %m11 = arith.muli %mx10, %odd : i32
    %mx11 = arith.xori %m11, %mx10 : i32
    %m12 = arith.muli %mx11, %odd : i32
    %mx12 = arith.xori %m12, %mx11 : i32
    %m13 = arith.muli %mx12, %odd : i32
    %mx13 = arith.xori %m13, %mx12 : i32
    %m14 = arith.muli %mx13, %odd : i32
    %mx14 = arith.xori %m14, %mx13 : i32
    %m15 = arith.muli %mx14, %odd : i32
    %mx15 = arith.xori %m15, %mx14 : i32
    %m16 = arith.muli %mx15, %odd : i32
    %mx16 = arith.xori %m16, %mx15 : i32
    %m17 = arith.muli %mx16, %odd : i32
    %mx17 = arith.xori %m17, %mx16 : i32
    %m18 = arith.muli %mx17, %odd : i32
    %mx18 = arith.xori %m18, %mx17 : i32
    %m19 = arith.muli %mx18, %odd : i32
    %mx19 = arith.xori %m19, %mx18 : i32
    %m20 = arith.muli %mx19, %odd : i32
    %mx20 = arith.xori %m20, %mx19 : i32
    %m21 = arith.muli %mx20, %odd : i32
    %mx21 = arith.xori %m21, %mx20 : i32
    %m22 = arith.muli %mx21, %odd : i32
    %mx22 = arith.xori %m22, %mx21 : i32
    %m23 = arith.muli %mx22, %odd : i32
    %mx23 = arith.xori %m23, %mx22 : i32
    %m24 = arith.muli %mx23, %odd : i32
    %mx24 = arith.xori %m24, %mx23 : i32
    %inside = arith.cmpi sge, %mx24, %zero : i32
    %least = arith.maxsi %mx24, %zero : i32
    %most = arith.minsi %least, %last : i32
    %k = arith.index_cast %most : i32 to index
    %v = memref.load %x[%k] : memref<100xf32>
    %f = arith.sitofp %mx24 : i32 to f32
    %h = arith.sitofp %mx23 : i32 to f32
    %g = arith.addf %f, %h : f32
    %u = arith.addf %v, %g : f32
    memref.store %u, %y[%i] : memref<16xf32>
  } {xhlo.parallel, xhlo.interleave = 2 : i64}
  func.return
}
func.func @serial(%at_all: memref<16xi32>, %x: memref<100xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %odd = arith.constant 1327217885 : i32
  %zero = arith.constant 0 : i32
  %last = arith.constant 99 : i32
  %other = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %at = memref.load %at_all[%i] : memref<16xi32>
    %m0 = arith.muli %at, %odd : i32
    %mx0 = arith.xori %m0, %at : i32
    %m1 = arith.muli %mx0, %odd : i32
    %mx1 = arith.xori %m1, %mx0 : i32
    %m2 = arith.muli %mx1, %odd : i32
    %mx2 = arith.xori %m2, %mx1 : i32
    %m3 = arith.muli %mx2, %odd : i32
    %mx3 = arith.xori %m3, %mx2 : i32
    %m4 = arith.muli %mx3, %odd : i32
    %mx4 = arith.xori %m4, %mx3 : i32
    %m5 = arith.muli %mx4, %odd : i32
    %mx5 = arith.xori %m5, %mx4 : i32
    %m6 = arith.muli %mx5, %odd : i32
    %mx6 = arith.xori %m6, %mx5 : i32
    %m7 = arith.muli %mx6, %odd : i32
    %mx7 = arith.xori %m7, %mx6 : i32
    %m8 = arith.muli %mx7, %odd : i32
    %mx8 = arith.xori %m8, %mx7 : i32
    %m9 = arith.muli %mx8, %odd : i32
    %mx9 = arith.xori %m9, %mx8 : i32
    %m10 = arith.muli %mx9, %odd : i32
    %mx10 = arith.xori %m10, %mx9 : i32
    %m11 = arith.muli %mx10, %odd : i32
    %mx11 = arith.xori %m11, %mx10 : i32
    %m12 = arith.muli %mx11, %odd : i32
    %mx12 = arith.xori %m12, %mx11 : i32
    %m13 = arith.muli %mx12, %odd : i32
    %mx13 = arith.xori %m13, %mx12 : i32
    %m14 = arith.muli %mx13, %odd : i32
    %mx14 = arith.xori %m14, %mx13 : i32
    %m15 = arith.muli %mx14, %odd : i32
    %mx15 = arith.xori %m15, %mx14 : i32
    %m16 = arith.muli %mx15, %odd : i32
    %mx16 = arith.xori %m16, %mx15 : i32
    %m17 = arith.muli %mx16, %odd : i32
    %mx17 = arith.xori %m17, %mx16 : i32
    %m18 = arith.muli %mx17, %odd : i32
    %mx18 = arith.xori %m18, %mx17 : i32
    %m19 = arith.muli %mx18, %odd : i32
    %mx19 = arith.xori %m19, %mx18 : i32
    %m20 = arith.muli %mx19, %odd : i32
    %mx20 = arith.xori %m20, %mx19 : i32
    %m21 = arith.muli %mx20, %odd : i32
    %mx21 = arith.xori %m21, %mx20 : i32
    %m22 = arith.muli %mx21, %odd : i32
    %mx22 = arith.xori %m22, %mx21 : i32
    %m23 = arith.muli %mx22, %odd : i32
    %mx23 = arith.xori %m23, %mx22 : i32
    %m24 = arith.muli %mx23, %odd : i32
    %mx24 = arith.xori %m24, %mx23 : i32
    %inside = arith.cmpi sge, %mx24, %zero : i32
    %least = arith.maxsi %mx24, %zero : i32
    %most = arith.minsi %least, %last : i32
    %k = arith.index_cast %most : i32 to index
    %v = memref.load %x[%k] : memref<100xf32>
    %u = arith.select %inside, %v, %other : f32
    memref.store %u, %y[%i] : memref<16xf32>
  }
  func.return
}

// A place that follows from an element which the iteration may have written before stays after that.
// CHECK-LABEL: func.func @written
// CHECK-NOT:     memref.alloca
// CHECK:         func.return
func.func @written(%at_all: memref<16xi32>, %new: memref<16xi32>, %x: memref<100xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %odd = arith.constant 1327217885 : i32
  scf.for %i = %c0 to %c16 step %c1 {
    %n = memref.load %new[%i] : memref<16xi32>
    memref.store %n, %at_all[%i] : memref<16xi32>
    %mx = memref.load %at_all[%i] : memref<16xi32>
    %m0 = arith.muli %mx, %odd : i32
    %mx0 = arith.xori %m0, %mx : i32
    %m1 = arith.muli %mx0, %odd : i32
    %mx1 = arith.xori %m1, %mx0 : i32
    %m2 = arith.muli %mx1, %odd : i32
    %mx2 = arith.xori %m2, %mx1 : i32
    %m3 = arith.muli %mx2, %odd : i32
    %mx3 = arith.xori %m3, %mx2 : i32
    %m4 = arith.muli %mx3, %odd : i32
    %mx4 = arith.xori %m4, %mx3 : i32
    %m5 = arith.muli %mx4, %odd : i32
    %mx5 = arith.xori %m5, %mx4 : i32
    %m6 = arith.muli %mx5, %odd : i32
    %mx6 = arith.xori %m6, %mx5 : i32
    %m7 = arith.muli %mx6, %odd : i32
    %mx7 = arith.xori %m7, %mx6 : i32
    %m8 = arith.muli %mx7, %odd : i32
    %mx8 = arith.xori %m8, %mx7 : i32
    %m9 = arith.muli %mx8, %odd : i32
    %mx9 = arith.xori %m9, %mx8 : i32
    %m10 = arith.muli %mx9, %odd : i32
    %mx10 = arith.xori %m10, %mx9 : i32
    %m11 = arith.muli %mx10, %odd : i32
    %mx11 = arith.xori %m11, %mx10 : i32
    %m12 = arith.muli %mx11, %odd : i32
    %mx12 = arith.xori %m12, %mx11 : i32
    %m13 = arith.muli %mx12, %odd : i32
    %mx13 = arith.xori %m13, %mx12 : i32
    %m14 = arith.muli %mx13, %odd : i32
    %mx14 = arith.xori %m14, %mx13 : i32
    %m15 = arith.muli %mx14, %odd : i32
    %mx15 = arith.xori %m15, %mx14 : i32
    %m16 = arith.muli %mx15, %odd : i32
    %mx16 = arith.xori %m16, %mx15 : i32
    %m17 = arith.muli %mx16, %odd : i32
    %mx17 = arith.xori %m17, %mx16 : i32
    %m18 = arith.muli %mx17, %odd : i32
    %mx18 = arith.xori %m18, %mx17 : i32
    %m19 = arith.muli %mx18, %odd : i32
    %mx19 = arith.xori %m19, %mx18 : i32
    %m20 = arith.muli %mx19, %odd : i32
    %mx20 = arith.xori %m20, %mx19 : i32
    %m21 = arith.muli %mx20, %odd : i32
    %mx21 = arith.xori %m21, %mx20 : i32
    %m22 = arith.muli %mx21, %odd : i32
    %mx22 = arith.xori %m22, %mx21 : i32
    %m23 = arith.muli %mx22, %odd : i32
    %mx23 = arith.xori %m23, %mx22 : i32
    %m24 = arith.muli %mx23, %odd : i32
    %mx24 = arith.xori %m24, %mx23 : i32
    %j = arith.index_cast %mx24 : i32 to index
    %a = memref.load %x[%j] : memref<100xf32>
    memref.store %a, %y[%i] : memref<16xf32>
  } {xhlo.parallel}
  func.return
}

// An operation that stays, though nothing reads its result, keeps those of the chain that it reads.
// CHECK-LABEL: func.func @unread
// CHECK:         %[[PLACES:.*]] = memref.alloca() : memref<16xi32>
// CHECK:         memref.store %{{.*}}, %[[PLACES]]
// CHECK:         memref.load %[[PLACES]]
// CHECK-COUNT-3: arith.muli
// CHECK-NOT:     arith.muli
// CHECK:         "memref.atomic_rmw"
// CHECK:         func.return
func.func @unread(%at_all: memref<16xi32>, %sums: memref<16xi32>, %x: memref<128xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %odd = arith.constant 1327217885 : i32
  %last = arith.constant 127 : i32
  scf.for %i = %c0 to %c16 step %c1 {
    %mx = memref.load %at_all[%i] : memref<16xi32>
    %m0 = arith.muli %mx, %odd : i32
    %mx0 = arith.xori %m0, %mx : i32
    %m1 = arith.muli %mx0, %odd : i32
    %mx1 = arith.xori %m1, %mx0 : i32
    %m2 = arith.muli %mx1, %odd : i32
    %mx2 = arith.xori %m2, %mx1 : i32
    %m3 = arith.muli %mx2, %odd : i32
    %mx3 = arith.xori %m3, %mx2 : i32
    %m4 = arith.muli %mx3, %odd : i32
    %mx4 = arith.xori %m4, %mx3 : i32
    %m5 = arith.muli %mx4, %odd : i32
    %mx5 = arith.xori %m5, %mx4 : i32
    %m6 = arith.muli %mx5, %odd : i32
    %mx6 = arith.xori %m6, %mx5 : i32
    %m7 = arith.muli %mx6, %odd : i32
    %mx7 = arith.xori %m7, %mx6 : i32
    %m8 = arith.muli %mx7, %odd : i32
    %mx8 = arith.xori %m8, %mx7 : i32
    %m9 = arith.muli %mx8, %odd : i32
    %mx9 = arith.xori %m9, %mx8 : i32
    %m10 = arith.muli %mx9, %odd : i32
    %mx10 = arith.xori %m10, %mx9 : i32
    %m11 = arith.muli %mx10, %odd : i32
    %mx11 = arith.xori %m11, %mx10 : i32
    %m12 = arith.muli %mx11, %odd : i32
    %mx12 = arith.xori %m12, %mx11 : i32
    %m13 = arith.muli %mx12, %odd : i32
    %mx13 = arith.xori %m13, %mx12 : i32
    %k = arith.andi %mx13, %last : i32
    %j = arith.index_cast %k : i32 to index
    %a = memref.load %x[%j] : memref<128xf32>
    memref.store %a, %y[%i] : memref<16xf32>
    %sum = "memref.atomic_rmw"(%mx2, %sums, %i) <{kind = 0 : i64}> : (i32, memref<16xi32>, index) -> i32
  } {xhlo.parallel}
  func.return
}
