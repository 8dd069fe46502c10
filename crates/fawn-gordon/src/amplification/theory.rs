//! Closed forms of write amplification.
//!
//! Notation: `α = T/U = 1/(1 − S)` for a spare factor `S`, `b` pages a block. Sources: Desnoyers, "Analytic Modeling of SSD
//! Write Performance", SYSTOR 2012 (equations by number); Van Houdt, "A Mean Field Model for a Class of Garbage Collection
//! Algorithms in Flash-based Solid State Drives", SIGMETRICS 2013.

/// Hot data: a share of the writes that goes to a share of the pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotShare {
    /// Share of writes that go to hot pages, 0 to 1 exclusive.
    pub writes: f64,
    /// Share of pages that are hot, 0 to 1 exclusive.
    pub pages: f64,
}

/// The principal branch of Lambert's W for `−1/e ≤ x ≤ 0`: the `w ≥ −1` with `w eʷ = x`.
pub fn lambert_w(x: f64) -> f64 {
    assert!((-1.0 / std::f64::consts::E - 1e-12..=0.0).contains(&x), "W of {x} is outside of what is computed here");
    let near = 2.0 * (std::f64::consts::E * x + 1.0);
    if near <= 0.0 {
        return -1.0;
    }
    // The series about the branch point begins close enough for Halley's iteration to converge in a few steps.
    let root = near.sqrt();
    let mut w = (-1.0 + root - near / 3.0).min(0.0);
    for _ in 0..40 {
        let power = w.exp();
        let error = w * power - x;
        let step = error / (power * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0));
        if !step.is_finite() || step.abs() < 1e-15 {
            break;
        }
        w -= step;
    }
    w
}

fn alpha(spare_factor: f64) -> f64 {
    assert!(spare_factor > 0.0 && spare_factor < 1.0, "a spare factor lies between 0 and 1: {spare_factor}");
    1.0 / (1.0 - spare_factor)
}

fn fifo_of(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w(-alpha * (-alpha).exp()))
}

fn block_factor(pages_per_block: u32) -> f64 {
    1.0 + 1.0 / (2.0 * pages_per_block as f64)
}

fn greedy_of(alpha: f64, pages_per_block: u32) -> f64 {
    let k = block_factor(pages_per_block);
    fifo_of(k * alpha) / k
}

/// Cleaning the block that was written longest ago (equation 4). It depends on no block size.
pub fn fifo(spare_factor: f64) -> f64 {
    fifo_of(alpha(spare_factor))
}

/// Cleaning the block with the fewest valid pages (equation 12).
pub fn greedy(spare_factor: f64, pages_per_block: u32) -> f64 {
    greedy_of(alpha(spare_factor), pages_per_block)
}

/// Cleaning any block: `1/S`.
pub fn random(spare_factor: f64) -> f64 {
    1.0 / (1.0 - 1.0 / alpha(spare_factor))
}

/// Share of blocks with at least `i` valid pages, for `i` from 0 to `b`, where the fewest-valid of `choices` random blocks is
/// cleaned: the mean field's fixed point.
///
/// With `M_i` this share, what enters the states `≥ i` at each cleaning, one full block, leaves as victims and by
/// invalidation: `1 = M_iᵈ + c·i·(M_i − M_{i+1})`. The rate `c` is the one at which the mean number of valid pages is `b/α`.
pub fn valid_tail(spare_factor: f64, pages_per_block: u32, choices: u32) -> Vec<f64> {
    assert!(choices >= 1, "a victim is chosen from at least one block");
    let blocks = pages_per_block as usize;
    let mean = pages_per_block as f64 / alpha(spare_factor);
    let tail_at = |rate: f64| {
        let mut tail = vec![1.0; blocks + 2];
        tail[blocks + 1] = 0.0;
        for i in (1..=blocks).rev() {
            let above = tail[i + 1];
            let (mut low, mut high) = (above, 1.0);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if middle - above < (1.0 - middle.powf(f64::from(choices))) / (rate * i as f64) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            tail[i] = f64::midpoint(low, high);
        }
        tail
    };
    let (mut low, mut high) = (1e-9_f64, 1e9_f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if tail_at(middle)[1..=blocks].iter().sum::<f64>() > mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    let mut tail = tail_at((low * high).sqrt());
    tail.truncate(blocks + 1);
    tail
}

/// Cleaning the fewest-valid of so many random blocks. One choice gives [`random`].
pub fn d_choices(spare_factor: f64, pages_per_block: u32, choices: u32) -> f64 {
    let tail = valid_tail(spare_factor, pages_per_block, choices);
    let victim: f64 = tail[1..].iter().map(|share| share.powf(f64::from(choices))).sum();
    let pages = pages_per_block as f64;
    pages / (pages - victim)
}

fn fifo_mixed_of(alpha: f64, hot: HotShare) -> f64 {
    let HotShare { writes: r, pages: f } = hot;
    let excess = |a: f64| {
        let part = |share: f64, pages: f64| share / (f64::exp_m1(share * alpha / (pages * a)));
        1.0 + part(r, f) + part(1.0 - r, 1.0 - f) - a
    };
    let (mut low, mut high) = (1.0 + 1e-9, 1e6);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// FIFO cleaning where hot and cold data share blocks (equation 14).
pub fn fifo_mixed(spare_factor: f64, hot: HotShare) -> f64 {
    fifo_mixed_of(alpha(spare_factor), hot)
}

/// Greedy cleaning where hot and cold data share blocks (equation 16).
pub fn greedy_mixed(spare_factor: f64, pages_per_block: u32, hot: HotShare) -> f64 {
    let k = block_factor(pages_per_block);
    fifo_mixed_of(k * alpha(spare_factor), hot) / k
}

/// Hot and cold data in blocks of their own, each cleaned greedily.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    /// Share of the spare pages that the hot data has.
    pub spare_of_hot: f64,
    /// Write amplification over both.
    pub amplification: f64,
}

/// Write amplification if the hot data has this share of the spare pages (equations 20 and 21).
pub fn greedy_apart_at(spare_factor: f64, pages_per_block: u32, hot: HotShare, spare_of_hot: f64) -> f64 {
    let spare = alpha(spare_factor) - 1.0;
    let of_hot = 1.0 + spare_of_hot * spare / hot.pages;
    let of_cold = 1.0 + (1.0 - spare_of_hot) * spare / (1.0 - hot.pages);
    hot.writes * greedy_of(of_hot, pages_per_block) + (1.0 - hot.writes) * greedy_of(of_cold, pages_per_block)
}

/// The division of the spare pages with the least write amplification (equation 22).
pub fn greedy_apart(spare_factor: f64, pages_per_block: u32, hot: HotShare) -> Separation {
    let at = |share: f64| greedy_apart_at(spare_factor, pages_per_block, hot, share);
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (1e-4, 1.0 - 1e-4);
    for _ in 0..80 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if at(left) < at(right) {
            high = right;
        } else {
            low = left;
        }
    }
    let spare_of_hot = f64::midpoint(low, high);
    Separation { spare_of_hot, amplification: at(spare_of_hot) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 0.000_6 * expected.max(1.0), "{value} is not {expected}");
    }

    #[test]
    fn the_closed_forms_give_the_published_table() {
        let table = [
            (0.03, 16.837, [11.128, 13.393, 14.916, 15.818]),
            (0.05, 10.172, [7.791, 8.821, 9.448, 9.796]),
            (0.07, 7.318, [6.013, 6.600, 6.940, 7.124]),
            (0.10, 5.179, [4.502, 4.816, 4.990, 5.083]),
            (0.15, 3.519, [3.203, 3.353, 3.434, 3.476]),
            (0.20, 2.693, [2.510, 2.598, 2.645, 2.668]),
            (0.25, 2.201, [2.082, 2.140, 2.170, 2.185]),
            (0.28, 1.992, [1.896, 1.943, 1.967, 1.979]),
        ];
        for (spare, of_fifo, of_greedy) in table {
            close(fifo(spare), of_fifo);
            for (pages, expected) in [32, 64, 128, 256].into_iter().zip(of_greedy) {
                close(greedy(spare, pages), expected);
            }
            close(random(spare), 1.0 / spare);
        }
    }

    #[test]
    fn d_choices_lies_between_random_and_greedy() {
        for (choices, expected) in [(1, 10.000), (2, 6.852), (3, 5.949), (5, 5.343), (10, 5.000), (20, 4.885)] {
            close(d_choices(0.10, 64, choices), expected);
        }
        close(d_choices(0.20, 64, 2), 3.533);
        close(d_choices(0.20, 64, 10), 2.675);
        close(d_choices(0.07, 64, 2), 9.635);
        close(d_choices(0.07, 64, 10), 6.894);
        close(d_choices(0.10, 32, 2), 6.693);
        close(d_choices(0.10, 32, 10), 4.736);
    }

    #[test]
    fn hot_data_among_cold_costs_more_and_apart_less() {
        let fifth = HotShare { writes: 0.8, pages: 0.2 };
        let few = HotShare { writes: 0.9, pages: 0.05 };
        for (spare, expected) in [(0.07, 7.682), (0.11, 5.083), (0.20, 3.034)] {
            close(fifo_mixed(spare, fifth), expected);
        }
        for (spare, expected) in [(0.07, 9.240), (0.11, 6.409), (0.20, 3.973)] {
            close(fifo_mixed(spare, few), expected);
        }
        for hot in [fifth, few] {
            assert!(greedy_apart(0.10, 64, hot).amplification < greedy(0.10, 64));
            assert!(greedy_mixed(0.10, 64, hot) > greedy(0.10, 64));
        }
    }

    /// Xiang and Kurkoski's approximation is the same expression with `1 + spare/U` for α; their abstract gives 2.36 at 0.3.
    #[test]
    fn the_expression_gives_what_xiang_and_kurkoski_print() {
        assert!((fifo_of(1.3) - 2.36).abs() < 0.01);
    }
}
