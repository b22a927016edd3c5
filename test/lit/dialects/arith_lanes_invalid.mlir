// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @lengths(%x: vector<4xi8>) {
  // expected-error@+1 {{'arith.extsi' op vectors of one shape, not vector<4xi8>, vector<8xi32>}}
  %0 = arith.extsi %x : vector<4xi8> to vector<8xi32>
  func.return
}

// -----

func.func @narrower(%x: vector<4xi32>) {
  // expected-error@+1 {{'arith.extui' op Destination bit-width must be larger than the input bit-width}}
  %0 = arith.extui %x : vector<4xi32> to vector<4xi8>
  func.return
}

// -----

func.func @scalar_result(%x: vector<4xi32>) {
  // expected-error@+1 {{'arith.sitofp' op vectors of one shape, not vector<4xi32>, f32}}
  %0 = arith.sitofp %x : vector<4xi32> to f32
  func.return
}

// -----

func.func @one_bit_for_all(%x: vector<4xf32>) {
  // expected-error@+1 {{'arith.cmpf' op vectors of one shape, not vector<4xf32>, vector<4xf32>, i1}}
  %0 = "arith.cmpf"(%x, %x) <{predicate = 2 : i64}> : (vector<4xf32>, vector<4xf32>) -> i1
  func.return
}

// -----

func.func @condition_of_another_length(%c: vector<8xi1>, %x: vector<4xf32>) {
  // expected-error@+1 {{'arith.select' op vectors of one shape, not vector<8xi1>, vector<4xf32>, vector<4xf32>, vector<4xf32>}}
  %0 = arith.select %c, %x, %x : vector<8xi1>, vector<4xf32>
  func.return
}

// -----

func.func @condition_of_bytes(%c: vector<4xi8>, %x: vector<4xf32>) {
  // expected-error@+1 {{'arith.select' op operand 'cond' at position 0 does not verify}}
  %0 = arith.select %c, %x, %x : vector<4xi8>, vector<4xf32>
  func.return
}
