// RUN: hlo-opt %s --map-kernels-to-gpu --split-input-file --verify-diagnostics
// Plans that do not fit their operation or the chip: elementwise ones.

// Vectors: the width of an access, rows that divide into them, alignment.

#ij = affine_map<(i, j) -> (i, j)>

func.func private @k(%a: memref<1000x777xf32>, %o: memref<1000x777xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{#gpu.elementwise<width = 8> does not fit: an access moves 16 bytes, 4 elements here}}
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1000x777xf32>) outs(%o : memref<1000x777xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 8>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

func.func private @k(%a: memref<777x1000xf32>, %o: memref<1000x777xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{rows of 777 elements do not divide into vectors of 4}}
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<777x1000xf32>) outs(%o : memref<1000x777xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 4>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#i = affine_map<(i) -> (i)>

func.func private @k(%a: memref<1000xf32>, %o: memref<1002xf32>) attributes {hlo.kernel = "loop"} {
  %part = memref.subview %o[1] [1000] [1] : memref<1002xf32> to memref<1000xf32, strided<[1], offset: 1>>
  // expected-error@+1 {{an output is not contiguous and aligned to vectors of 4 elements}}
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<1000xf32>) outs(%part : memref<1000xf32, strided<[1], offset: 1>>) attrs = {gpu.plan = #gpu.elementwise<width = 4>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

func.func private @k(%a: memref<128x64xf32>, %o: memref<64x128xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{loop 1 of (64, 128) does not divide into items of a thread}}
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<128x64xf32>) outs(%o : memref<64x128xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 4, items = 4, along = 1>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

// Operations of one launch do not depend on each other, and have the same kind of plan.

func.func private @k(%a: memref<8xf32>, %o: memref<8xf32>, %p: memref<8xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{joined operations depend on each other}}
  "memref.copy"(%a, %o) {gpu.plan = #gpu.elementwise} : (memref<8xf32>, memref<8xf32>) -> ()
  "memref.copy"(%o, %p) {gpu.plan = #gpu.elementwise, gpu.joined} : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

func.func private @k(%a: memref<8xf32>, %o: memref<8xf32>, %p: memref<8xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{each joined operation has an #gpu.elementwise}}
  "memref.copy"(%a, %o) {gpu.plan = #gpu.elementwise} : (memref<8xf32>, memref<8xf32>) -> ()
  "memref.copy"(%a, %p) {gpu.joined} : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

func.func private @k(%a: memref<8xf32>, %o: memref<8xf32>, %p: memref<8xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{operations of one launch have the same kind of plan and the same threads}}
  "memref.copy"(%a, %o) {gpu.plan = #gpu.elementwise} : (memref<8xf32>, memref<8xf32>) -> ()
  "memref.copy"(%a, %p) {gpu.plan = #gpu.elementwise<threads = 128>, gpu.joined} : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

// Tiles: the inputs lie across, their lines are shared out between the threads, shared memory is enough.

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

func.func private @k(%a: memref<128x64xf32>, %o: memref<64x128xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{the inputs are not all contiguous along loop 0 and read only}}
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<128x64xf32>) outs(%o : memref<64x128xf32>) attrs = {gpu.plan = #gpu.transpose<32x32, loop = 0, inputs = [1]>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

func.func private @k(%a: memref<128x64xf32>, %o: memref<64x128xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{tiles extend along the last and one before it}}
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<128x64xf32>) outs(%o : memref<64x128xf32>) attrs = {gpu.plan = #gpu.transpose<32x32, loop = 1, inputs = [0]>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

func.func private @k(%a: memref<2048x64xf32>, %o: memref<64x2048xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{256 threads cannot share lines of 1024 elements, 1 at a time}}
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<2048x64xf32>) outs(%o : memref<64x2048xf32>) attrs = {gpu.plan = #gpu.transpose<1024x1, loop = 0, inputs = [0]>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

func.func private @k(%a: memref<2048x512xf32>, %o: memref<512x2048xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{263168 bytes of shared memory; a block of sm_90 has 232448}}
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<2048x512xf32>) outs(%o : memref<512x2048xf32>) attrs = {gpu.plan = #gpu.transpose<256x256, loop = 0, inputs = [0]>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

// Plans of other operations.

#ij = affine_map<(i, j) -> (i, j)>

func.func private @k(%a: memref<1000x777xf32>, %o: memref<1000x777xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{the operations are no chain of associative reductions over the same rows}}
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1000x777xf32>) outs(%o : memref<1000x777xf32>) attrs = {gpu.plan = #gpu.rows<threads = 32>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

func.func private @k(%a: memref<1000x777xf32>, %o: memref<1000x777xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{the operations are no contraction with elementwise ones over its result}}
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1000x777xf32>) outs(%o : memref<1000x777xf32>) attrs = {gpu.plan = #gpu.tile<64x64x16, thread = 4x4>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

func.func private @k(%a: memref<1000x777xf32>, %o: memref<1000x777xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{it is the plan of another operation}}
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1000x777xf32>) outs(%o : memref<1000x777xf32>) attrs = {gpu.plan = #gpu.points} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

func.func private @k(%a: memref<1000x777xf32>, %o: memref<1000x777xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{the operation works on elements}}
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1000x777xf32>) outs(%o : memref<1000x777xf32>) attrs = {gpu.plan = #gpu.none} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  // expected-error@+1 {{linalg.generic reduces}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.elementwise} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  // expected-error@+1 {{the launch is not one operation without reduction}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.transpose<32x32, loop = 0, inputs = [0]>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
