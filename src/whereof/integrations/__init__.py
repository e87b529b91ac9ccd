"""Training code of others: PyTorch loops and PyKEEN. Nothing else imports this room."""
