"""A machine of NumPy arrays that runs functions of the GPU as a GPU does, and reports what a GPU would not."""
