"""
The reader of operations and regions: xDSL's parser with names scoped as MLIR scopes them, limits, and the fast path.

A value that is used before its definition is replaced when the definition is read; if there is none, the error points
at the first use. Inside a region that is isolated from above the names outside are not seen.
"""

# The reader extends xDSL's parser, whose building blocks are private by name.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, DenseIntOrFPElementsAttr, ModuleOp, UnregisteredOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import AttributeInvT, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ..diagnostics import file_location, placed
from ..diagnostics.suggestions import did_you_mean
from ..dialect import SPELLINGS
from .attributes import MAX_NESTING, HloAttributeParser
from .lexer import HloLexer
from .locations import SourcePositions

_ItemT = TypeVar("_ItemT")


class HloParser(HloAttributeParser):
    """
    The general parser of one text. Raises ParseError; `parse_module` of this package turns it into a DiagnosticError.
    """

    def __init__(self, ctx: Context, text: str, filename: str, positions: SourcePositions):
        super().__init__(ctx, "", filename)
        self._prepare(positions)
        self._parser_state = ParserState(HloLexer(Input(text, filename)))
        self._region_depth = 0
        self._isolated = False
        self._scope: list[str] = []
        self._empty_region: int | None = None
        self._first_uses: dict[str, Span] = {}
        self._op_types: dict[str, type[Operation]] = {}
        self._isolation: dict[type[Operation], bool] = {}

    # Modules ---------------------------------------------------------------------------------------------------

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse up to the end of the text; an empty text is an empty module."""
        operations: list[Operation] = []
        start = self.pos
        while self._current_token.kind is not MLIRTokenKind.EOF:
            match self._current_token.kind:
                case MLIRTokenKind.HASH_IDENT | MLIRTokenKind.EXCLAMATION_IDENT:
                    self._parse_alias_def()
                case MLIRTokenKind.FILE_METADATA_BEGIN:
                    self._parse_file_metadata_dictionary()
                case _:
                    operations.append(self._expect_operation())
        self._check_forward_references()
        if len(operations) == 1 and isinstance(operations[0], ModuleOp):
            return operations[0]
        module = ModuleOp(operations)
        module.location = self.positions.location(start)
        return module

    def _expect_operation(self) -> Operation:
        op = self.parse_optional_operation()
        if op is None:
            self.raise_error(f"expected an operation, got '{self._current_token.text}'")
        return op

    # Operations ------------------------------------------------------------------------------------------------

    def parse_comma_separated_list(
        self, delimiter: Parser.Delimiter, parse: Callable[[], _ItemT], context_msg: str = ""
    ) -> list[_ItemT]:
        """
        Also take the result types of linalg.generic in parentheses, as MLIR and xDSL print them; xDSL reads them
        without.
        """
        is_plain = delimiter is self.Delimiter.NONE and parse == self.parse_attribute
        if is_plain and self._current_token.kind is MLIRTokenKind.L_PAREN:
            delimiter = self.Delimiter.PAREN
        return super().parse_comma_separated_list(delimiter, parse, context_msg)

    def parse_operation(self) -> Operation:
        bound_position = self.pos
        bound = self._parse_op_result_list()
        token = self._current_token
        custom = token.kind is MLIRTokenKind.BARE_IDENT
        if not custom and token.kind is not MLIRTokenKind.STRING_LIT:
            self.raise_error("expected the name of an operation")
        self._consume_token()
        op_type = self._op_type(token.text if custom else token.text[1:-1], token.span)
        self._isolated = self._is_isolated(op_type)
        stack = self._parser_state.dialect_stack
        stack.append(op_type.dialect_name())
        try:
            op = op_type.parse(self) if custom else self._parse_generic_operation(op_type)
        except VerifyException as error:
            self.raise_error(f"'{op_type.name}' op {error}", token.span)
        except (ParseError, RecursionError):
            raise
        except Exception as error:
            from ..diagnostics.xdsl_errors import raised_in_xdsl

            if not raised_in_xdsl(error):
                raise
            self.raise_error(f"'{op_type.name}' op could not be read: {error}", token.span)
        stack.pop()
        if custom and op.attributes and isinstance(op, IRDLOperation):
            self._move_properties(op)
        # In generic form an empty region is how a declaration is written.
        bodiless = custom and isinstance(op, FuncOp) and not op.body.blocks
        if bodiless and self._empty_region is not None and self._empty_region > token.span.start:
            self.raise_error("a function's body has at least one block", self._empty_region)
        if custom and (location := self.parse_optional_location()) is not None:
            op.location = location
        if op.location is UNKNOWN_LOC:
            op.location = self.positions.location(token.span.start)
        elif file_location(op.location) is None:
            op.location = placed(op.location, self.positions.location(token.span.start))
        self._bind_results(op, bound, bound_position)
        return op

    def _move_properties(self, op: IRDLOperation) -> None:
        """Make properties of what xDSL's own forms leave among the attributes (`passthrough` of an llvm.func)."""
        declared = op.get_irdl_definition().properties
        for name in [name for name in op.attributes if name in declared and name not in op.properties]:
            op.properties[name] = op.attributes.pop(name)

    def _bind_results(self, op: Operation, bound: Sequence[tuple[Span, int]], position: int) -> None:
        if not bound:
            return
        count = sum(size for _, size in bound)
        if count != len(op.results):
            self.raise_error(f"'{op.name}' op has {len(op.results)} results, but {count} are named", position)
        first = 0
        for span, size in bound:
            self._register_ssa_definition(span.text[1:], op.results[first : first + size], span)
            first += size

    def _op_type(self, name: str, span: Span) -> type[Operation]:
        """
        The class of an operation by its written name; without a dialect's name the surrounding dialects are tried.
        """
        found = self._op_types.get(name)
        if found is None:
            found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
            if found is None:
                self.raise_error(f"unknown operation '{name}'{self._suggestion(name)}", span)
            if "." in name:
                self._op_types[name] = found
        return found

    def _suggestion(self, name: str) -> str:
        """`; did you mean 'stablehlo.add'?` where a loaded operation is spelled nearly so."""
        prefix, dot, rest = name.rpartition(".")
        dialect = SPELLINGS.get(prefix, prefix) or self._parser_state.dialect_stack[-1]
        self.ctx.get_optional_dialect(dialect)  # as a whole
        known = [op.name.partition(".")[2] for op in self.ctx.loaded_ops if op.dialect_name() == dialect]
        near = did_you_mean(rest, known, f"{prefix}{dot}", cutoff=0.8)
        if near or dialect in ("hlo", "chlo"):
            return near or ": this version does not have it; a package may add it through the entry points xhlo.ops"
        from difflib import get_close_matches

        dialects = (*SPELLINGS, *self.ctx.registered_dialect_names)
        meant = get_close_matches(prefix, dialects, n=3, cutoff=0.7) if dot and prefix not in dialects else ()
        there = (f"{one}.{rest}" for one in meant if self.ctx.get_optional_op(f"{one}.{rest}") is not None)
        return next((f"; did you mean '{one}'?" for one in there), "")

    def _get_op_by_name(self, name: str) -> type[Operation]:
        return self._op_type(name, self._current_token.span)

    def _is_isolated(self, op_type: type[Operation]) -> bool:
        found = self._isolation.get(op_type)
        if found is None:
            found = not issubclass(op_type, UnregisteredOp) and op_type.has_trait(IsolatedFromAbove)
            self._isolation[op_type] = found
        return found

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        op = super()._parse_generic_operation(op_type)
        if isinstance(op, IRDLOperation) and any(
            isinstance(a, DenseIntOrFPElementsAttr) for a in op.properties.values()
        ):
            from .older_forms import normalize_properties

            normalize_properties(op)
        return op

    # Values ----------------------------------------------------------------------------------------------------

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        name = operand.operand_name
        if name not in self.ssa_values and name not in self.forward_ssa_references:
            self._first_uses[name] = operand.span
        return super().resolve_operand(operand, type)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        self._scope.append(name)

    def _check_forward_references(self) -> None:
        for name in self.forward_ssa_references:
            self.raise_error(self.undefined_value(name), self._first_uses[name])

    def undefined_value(self, name: str) -> str:
        return f"use of undefined value '%{name}'{did_you_mean(name, reversed(self.ssa_values), '%', cutoff=0.6)}"

    # Regions ---------------------------------------------------------------------------------------------------

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        isolated, self._isolated = self._isolated, False
        if self._current_token.kind is not MLIRTokenKind.L_BRACE:
            self._isolated = isolated
            return None
        self._region_depth += 1
        if self._region_depth > MAX_NESTING:
            self.too_deep("regions")
        outer = (self.ssa_values, self.forward_ssa_references, self._first_uses) if isolated else None
        if isolated:
            self.ssa_values, self.forward_ssa_references, self._first_uses = {}, {}, {}
        blocks = (self.blocks, self.forward_block_references)
        self.blocks, self.forward_block_references = {}, defaultdict(list)
        scope, self._scope = self._scope, []
        start = self._consume_token().span.start
        region = self._region_body(arguments)
        if region.blocks.first is None:
            self._empty_region = start
        if outer is not None:
            self._check_forward_references()
            self.ssa_values, self.forward_ssa_references, self._first_uses = outer
        else:
            for name in self._scope:
                del self.ssa_values[name]
        self._scope = scope
        self.blocks, self.forward_block_references = blocks
        self._region_depth -= 1
        self._isolated = isolated
        return region

    def _region_body(self, arguments: Iterable[Parser.Argument] | None) -> Region:
        """Blocks up to the closing brace."""
        region = Region()
        if arguments is not None:
            region.add_block(self._entry_block(list(arguments)))
        elif self._current_token.kind not in (MLIRTokenKind.CARET_IDENT, MLIRTokenKind.R_BRACE):
            block = Block()
            self._parse_block_body(block)
            region.add_block(block)
        while self._current_token.kind is MLIRTokenKind.CARET_IDENT:
            region.add_block(self._parse_block())
        if self._current_token.kind is not MLIRTokenKind.R_BRACE:
            found = self._current_token.text
            self.raise_error(f"expected an operation or '}}', got {repr(found) if found else 'the end of the text'}")
        if self.forward_block_references:
            self._missing_blocks()
        self._consume_token()
        return region

    def _entry_block(self, arguments: list[Parser.Argument]) -> Block:
        if self._current_token.kind is MLIRTokenKind.CARET_IDENT:
            self.raise_error("the entry block of a region with named arguments has no label")
        block = Block(arg_types=[argument.type for argument in arguments])
        for value, argument in zip(block.args, arguments, strict=True):
            self._register_ssa_definition(argument.name.text[1:], (value,), argument.name)
            location = argument.location or UNKNOWN_LOC
            if file_location(location) is None:
                location = placed(location, self.positions.location(argument.name.start))
            value.location = location
        self._parse_block_body(block)
        return block

    def _missing_blocks(self) -> None:
        spans = [span for found in self.forward_block_references.values() for span in found]
        notes: list[tuple[Span[str] | Span[bytes], str | None]] = [
            (span, f"'{span.text}' is used here") for span in spans[1:]
        ]
        raise MultipleSpansParseError(spans[0], f"branch to undefined block '{spans[0].text}'", None, notes)

    def _parse_block_body(self, block: Block) -> None:
        while (op := self.parse_optional_operation()) is not None:
            block.add_op(op)

    def _parse_block(self) -> Block:
        token = self._parse_token(MLIRTokenKind.CARET_IDENT, "expected a block's label")
        name = token.text[1:]
        block, defined = self.blocks.get(name, (None, None))
        if defined is not None:
            note: list[tuple[Span[str] | Span[bytes], str | None]] = [(defined, "previously defined here")]
            raise MultipleSpansParseError(token.span, f"redefinition of block '^{name}'", None, note)
        block = self._named_block(name) if block is None else block
        self.blocks[name] = (block, token.span)
        self.forward_block_references.pop(name, None)
        self._parse_optional_block_arg_list(block)
        self.parse_punctuation(":")
        self._parse_block_body(block)
        return block

    def _get_block_from_name(self, block_name: Span) -> Block:
        name = block_name.text[1:]
        if name not in self.blocks:
            self.forward_block_references[name].append(block_name)
            self.blocks[name] = (self._named_block(name), None)
        return self.blocks[name][0]

    def parse_optional_successor(self) -> Block | None:
        token = self._parse_optional_token(MLIRTokenKind.CARET_IDENT)
        return None if token is None else self._get_block_from_name(token.span)

    @staticmethod
    def _named_block(name: str) -> Block:
        """A block with its label as a hint; numbers (`^0`, `^bb1`) are assigned anew when printing."""
        block = Block()
        if Block.is_valid_name(name) and not Block.is_default_block_name(name):
            block.name_hint = name
        return block
