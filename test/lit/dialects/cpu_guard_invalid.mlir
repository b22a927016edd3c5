// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @event() {
  // expected-error@+1 {{'cpu.guard' op event must be one of enter, leave, begin, end}}
  %0 = cpu.guard "wait"() {number = 3 : i64}
  func.return
}

// -----

func.func @place(%arena: memref<64xi8>) {
  // expected-error@+1 {{'cpu.guard' op 'end' takes the arena, and states offset and size}}
  %0 = cpu.guard "end"(%arena : memref<64xi8>) {number = 3 : i64}
  func.return
}
