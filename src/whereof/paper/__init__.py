"""The paper's experiments repeated, with our figures beside the printed ones."""
