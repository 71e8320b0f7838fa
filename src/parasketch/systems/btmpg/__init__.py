"""BTmPG: a paraphrase is paraphrased again, round by round, and a back model keeps the meaning from drifting away."""
