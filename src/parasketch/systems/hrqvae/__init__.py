"""HRQ-VAE, whole: configuration, network, objective, care of the codebooks, figures on dev."""
