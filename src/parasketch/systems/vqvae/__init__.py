"""VQ-VAE: the vector of a sentence is cut into heads, and each becomes one of the codes of its own codebook."""
