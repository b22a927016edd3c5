"""Functions of TensorFlow and Keras models, traced by TensorFlow, compiled by xhlo."""
