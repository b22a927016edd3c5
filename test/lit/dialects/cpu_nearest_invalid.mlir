// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func private @other_width(%x: f32) -> i64 {
  // expected-error@+1 {{expected an integer of the width of the float}}
  %0 = cpu.nearest %x : f32 to i64
  func.return %0 : i64
}

// -----

func.func private @an_integer(%x: i32) -> i32 {
  // expected-error@+1 {{'cpu.nearest'}}
  %0 = "cpu.nearest"(%x) : (i32) -> i32
  func.return %0 : i32
}
