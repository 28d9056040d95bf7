# SPDX-License-Identifier: MIT
"""How far apart colours are for people who see them differently, and how well text stands out.

A colour is (red, green, blue), 0 to 255. The matrices are those of Machado, Oliveira and Fernandes
(2009) for severity 1, in linear light; contrast is that of WCAG 2; a difference is CIE76, where 2.3
is just noticeable.
"""

SIGHTS = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.089)


def linear(colour):
    parts = [part / 255 for part in colour]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def multiply(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def seen(colour, sight):
    """Linear light, as this sight has it."""
    return [min(1, max(0, part)) for part in multiply(SIGHTS[sight], linear(colour))]


def lab(light):
    def root(part):
        return part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116
    x, y, z = (root(part / white) for part, white in zip(multiply(TO_XYZ, light), WHITE))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other, sight):
    return sum((a - b) ** 2 for a, b in zip(lab(seen(one, sight)), lab(seen(other, sight)))) ** 0.5


def contrast(one, other, sight):
    lights = sorted(multiply(TO_XYZ, seen(colour, sight))[1] for colour in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)
