// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @lengths(%x: vector<32xi8>, %z: vector<16xi32>) {
  // expected-error@+1 {{'cpu.dot' op expected four i8, two i16 or two bf16 for each total}}
  %0 = cpu.dot %x, %x, %z {unsigned} : vector<32xi8>, vector<32xi8>, vector<16xi32> -> vector<16xi32>
  func.return
}

// -----

func.func @signs(%x: vector<64xi8>, %z: vector<16xi32>) {
  // expected-error@+1 {{'cpu.dot' op expected unsigned first factors for i8, and only for i8}}
  %0 = cpu.dot %x, %x, %z : vector<64xi8>, vector<64xi8>, vector<16xi32> -> vector<16xi32>
  func.return
}

// -----

func.func @types(%x: vector<32xi16>, %z: vector<16xi64>) {
  // expected-error@+1 {{'cpu.dot' op expected totals of i32, and of f32 for bf16}}
  %0 = cpu.dot %x, %x, %z : vector<32xi16>, vector<32xi16>, vector<16xi64> -> vector<16xi64>
  func.return
}

// -----

func.func @bfloats(%x: vector<32xbf16>, %z: vector<16xi32>) {
  // expected-error@+1 {{'cpu.dot' op expected totals of i32, and of f32 for bf16}}
  %0 = cpu.dot %x, %x, %z : vector<32xbf16>, vector<32xbf16>, vector<16xi32> -> vector<16xi32>
  func.return
}

// -----

func.func @rank(%m: memref<8xf32>) {
  // expected-error@+1 {{'cpu.prefetch' op expected an index for each dimension}}
  cpu.prefetch %m[] : memref<8xf32>
  func.return
}
