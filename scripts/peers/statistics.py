# SPDX-License-Identifier: Apache-2.0
"""Medians with their 95 % interval by order statistics, as docs/measuring.md has them, and geometric means."""
import math


def median(values):
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def interval(values):
    """(low, high): of fewer than 6 values from the least to the greatest."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    count = len(ordered)
    cut, tail = 0, 0.0
    while True:
        tail += math.comb(count, cut) / 2**count
        if 2 * tail > 0.05:
            break
        cut += 1
    # `cut` values may be left out at each end.
    cut = max(cut - 1, 0)
    return ordered[cut], ordered[count - 1 - cut]


def summary(values):
    low, high = interval(values)
    return {"median": median(values), "low": low, "high": high}


def beside(values, own):
    """An arm's times, one a round, with their ratios to ours of the same rounds: above 1 ours is faster."""
    return {**summary(values), "rounds_ns": [round(value, 2) for value in values],
            "over_tilewright": summary([value / one for value, one in zip(values, own)])}


def geometric_mean(values):
    if not values:
        raise ValueError("no values")
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def is_drawn(count, of, rate):
    """Whether so many of as many draws may have come at this rate: one in 10^8 that did is denied."""
    return abs(count - rate * of) <= 6 * math.sqrt(rate * (1 - rate) * of)


def losses_in_short(losses):
    """Mean, median, 95th percentile (the least loss that 95 % do not exceed) and worst. What is faster than the config
    that it is compared with loses nothing."""
    ordered = sorted(max(0.0, loss) for loss in losses)
    return {"mean": math.fsum(ordered) / len(ordered), "median": median(ordered),
            "p95": ordered[max(1, -(-95 * len(ordered) // 100)) - 1], "worst": ordered[-1]}


def over_draws(drawn):
    """Errors of several draws of the inputs, by who made which output: rms and the largest one in the mean, for the
    largest error of one draw is noise. `largest_of_each` has those of the draws, in order."""
    def of_output(errors):
        largest = [each["largest"] for each in errors]
        return {"rms": math.fsum(each["rms"] for each in errors) / len(errors),
                "largest": math.fsum(largest) / len(errors), "largest_of_each": largest,
                "largest_ulp": max(each["largest_ulp"] for each in errors),
                "ulp_there": max(errors, key=lambda each: each["largest"])["ulp_there"],
                "wrong": sum(each["wrong"] for each in errors)}
    return {who: {name: of_output([errors[who][name] for errors in drawn]) for name in by_output}
            for who, by_output in drawn[0].items()}
