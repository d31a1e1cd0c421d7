"""Names and forms of earlier years: the classes, conversions, methods and Fourier transforms of 2016 to 2018."""
