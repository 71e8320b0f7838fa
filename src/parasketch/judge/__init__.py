"""Human evaluation: people compare the outputs of systems in pairs, blind, and a report says what they found."""
