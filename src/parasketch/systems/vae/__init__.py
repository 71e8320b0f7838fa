"""VAE: the vector of a sentence is a Gaussian, and several paraphrases are several samples."""
