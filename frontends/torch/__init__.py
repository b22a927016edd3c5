"""
PyTorch on xhlo: `torch.compile(model, backend="xhlo")`, and programs of `torch.export`.

Dynamo's graphs become ATen graphs by AOTAutograd, those hlo by a table of rules (`rules/`), and hlo an executable.
"""
