"""A machine of NumPy arrays that runs GPU functions as a GPU does, and reports errors that a GPU would not."""
