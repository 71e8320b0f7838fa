"""HRQ-VAE with a pretrained language model as encoder and decoder: source, sketch and target in one causal sequence."""
