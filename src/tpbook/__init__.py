"""Models, measurements and checks behind the book "Tensor Parallelism in LLM Inference"."""

__version__ = "0.1.0"
