"""What the paper reports, typed by hand: it stands beside our figures, in columns of its own.

Its data are others (six times as many COCO images; a QQP split in which 31 % of the test inputs occur in the training
data), so the columns cannot be compared downwards with ours.
"""

Figures = dict[str, dict[str, str]]
"""By row and data set of the paper."""

TABLE_1: Figures = {
    "copy": {"QQP": "34.52 / 100 / 7.61", "MSCOCO": "19.85 / 100 / -4.12"},
    "tfidf": {"QQP": "24.05 / 62.49 / 6.75", "MSCOCO": "18.26 / 38.37 / 6.93"},
    "ae": {"QQP": "28.99 / 60.11 / 11.17", "MSCOCO": "27.90 / 38.71 / 14.58"},
    "vae": {"QQP": "27.23 / 51.09 / 11.57", "MSCOCO": "27.44 / 24.40 / 16.99"},
    "vqvae": {"QQP": "16.31 / 21.13 / 8.83", "MSCOCO": "25.62 / 22.41 / 16.01"},
    "sowreap": {"QQP": "21.27 / 38.01 / 9.41", "MSCOCO": "12.51 / 6.47 / 8.71"},
    "lbow": {"QQP": "23.51 / 42.08 / 10.39", "MSCOCO": "21.65 / 16.46 / 14.02"},
    "btmpg": {"QQP": "19.83 / 35.11 / 8.84", "MSCOCO": "19.76 / 13.04 / 13.20"},
    "separator": {"QQP": "23.68 / 24.20 / 14.10", "MSCOCO": "20.59 / 12.76 / 13.92"},
    "hrqvae": {"QQP": "33.11 / 40.35 / 18.42", "MSCOCO": "27.90 / 16.58 / 19.04"},
    "hrqvae, oracle": {"QQP": "50.47 / 36.84 / 33.01", "MSCOCO": "35.80 / 12.85 / 26.07"},
}
"""BLEU / Self-BLEU / iBLEU."""

TOP_3: Figures = {
    "vae": {"QQP": "11.52 / 64.71", "MSCOCO": "17.22 / 55.66"},
    "btmpg": {"QQP": "9.13 / 82.02", "MSCOCO": "13.20 / 80.38"},
    "separator": {"QQP": "13.63 / 52.87", "MSCOCO": "13.77 / 57.79"},
    "hrqvae": {"QQP": "17.49 / 57.29", "MSCOCO": "18.39 / 41.29"},
}
"""Mean iBLEU / P-BLEU of three candidates."""

ABLATIONS: dict[tuple[str, str], dict[str, float]] = {
    ("no scaling", "oracle"): {"QQP": -2.48, "MSCOCO": -3.02},
    ("no hierarchy", "oracle"): {"QQP": -12.72, "MSCOCO": -3.10},
    ("no depth dropout", "plain"): {"QQP": -0.74, "MSCOCO": -0.81},
    ("post hoc", "plain"): {"QQP": -5.35, "MSCOCO": -2.83},
}
"""What iBLEU loses without a part of HRQ-VAE, by run and way."""
