"""Training: config, sampling, losses, optimizers, the step, the trace and the loop over epochs."""
