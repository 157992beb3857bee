"""How numbers read in a sentence: thousands separators, few digits, singular and plural."""

from __future__ import annotations


def number(value: float, digits: int = 4) -> str:
    """A number for people: a whole one in full, any other with a few significant digits.

    >>> number(9292.800000000001), number(9292.800000000001, 6), number(4194304), number(0.12345)
    ('9,293', '9,292.8', '4,194,304', '0.1235')
    """
    if value == value // 1:  # not true of infinity and NaN
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:,.{digits}g}"


def count(value: float, noun: str, plural: str = "") -> str:
    """A count with its noun; `plural` where an s does not make it.

    >>> count(1, "bank"), count(4096, "bank"), count(2, "branch", "branches")
    ('1 bank', '4,096 banks', '2 branches')
    """
    return f"{number(value)} {noun if value == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """A share in percent, with a decimal below 10 %.

    >>> percent(0.943), percent(0.0352), percent(0.00004), percent(0.0), percent(-0.00001)
    ('94 %', '3.5 %', 'under 0.1 %', '0 %', '0 %')
    """
    value = 100 * share
    if 0 < value < 0.05:
        return "under 0.1 %"
    if abs(value) < 0.05:
        return "0 %"
    return f"{value:,.0f} %" if abs(value) >= 9.95 else f"{value:.1f} %"


def change(value: float, decimals: int = 1) -> str:
    """A change in percent with its sign; one too small for the decimals keeps a digit.

    >>> change(-50.0, 2), change(1234.5), change(0.0), change(-0.004)
    ('-50.00 %', '+1,234.5 %', '0 %', '-0.004 %')
    """
    if value == 0:
        return "0 %"
    text = f"{value:+,.{decimals}f}"
    return f"{value:+.1g} %" if not text.strip("+-0.") else f"{text} %"
