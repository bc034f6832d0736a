"""What algorithms share: the session, kernels over pages, arrays on a GPU, arguments, refusals."""
