"""What AE, VAE, VQ-VAE and Separator share: one vector a sentence between the Transformer's encoder and decoder."""
