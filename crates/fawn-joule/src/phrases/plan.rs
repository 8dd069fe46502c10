//! Which phrases are looked for together: classes of similar lengths.
//!
//! A window is as long as the shortest phrase of its class. One short phrase among a million long ones would make windows so short
//! that they are all over the text, and each would have to be verified. A class of its own for short phrases costs another pass over
//! the text in the cache, and keeps the windows of the long ones long.

use super::hash::LONGEST_WINDOW;

/// Classes at most.
const MOST_CLASSES: usize = 4;

/// What a pass over a byte costs; the unit is a nanosecond of a core of 2024, and only proportions matter.
const PASS: f64 = 1.5;

/// What a window costs that passes the filters.
const HIT: f64 = 60.0;

/// Bits of surprise in a byte of text in natural languages, for windows of the lengths that matter here.
const BITS_A_BYTE: f64 = 2.5;

/// Phrases of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthClass {
    /// Bytes of its shortest phrase.
    pub shortest: usize,
    /// Bytes of its longest phrase.
    pub longest: usize,
    /// How many phrases have such lengths, duplicates included.
    pub phrases: usize,
}

impl LengthClass {
    /// Bytes of its windows.
    pub fn window(&self) -> usize {
        self.shortest.min(LONGEST_WINDOW)
    }

    /// What a byte of text costs.
    fn cost(&self) -> f64 {
        let texts = (BITS_A_BYTE * self.window() as f64).exp2();
        PASS + HIT * (self.phrases as f64 / texts).min(1.0)
    }
}

/// Cuts the lengths of phrases into classes. `lengths` has the number of phrases of each length that there is, sorted by length.
pub fn classes(lengths: &[(usize, usize)]) -> Vec<LengthClass> {
    // Lengths beyond the longest window differ in nothing that matters.
    let distinct = lengths.iter().position(|(length, _)| *length >= LONGEST_WINDOW).map_or(lengths.len(), |at| at + 1);
    let class = |from: usize, to: usize| {
        let all = if to == distinct { &lengths[from..] } else { &lengths[from..to] };
        LengthClass {
            shortest: all[0].0,
            longest: all[all.len() - 1].0,
            phrases: all.iter().map(|(_, phrases)| phrases).sum(),
        }
    };
    // The cheapest way to have the lengths from `from` on in so many classes, and where its first class ends.
    let mut best: Vec<Vec<(f64, usize)>> =
        vec![(0..distinct).map(|from| (class(from, distinct).cost(), distinct)).collect()];
    for more in 1..MOST_CLASSES.min(distinct) {
        let rest = &best[more - 1];
        let cut = |from: usize| {
            let costs = (from + 1..distinct).map(|to| (class(from, to).cost() + rest[to].0, to));
            costs.fold((f64::INFINITY, distinct), |best, other| if other.0 < best.0 { other } else { best })
        };
        best.push((0..distinct).map(cut).collect());
    }
    let number = (0..best.len())
        .fold(0, |best_of, number| if best[number][0].0 < best[best_of][0].0 { number } else { best_of });
    let (mut from, mut chosen) = (0, Vec::new());
    for left in (0..=number).rev() {
        let to = best[left][from].1;
        chosen.push(class(from, to));
        from = to;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(lengths: &[(usize, usize)]) -> Vec<(usize, usize, usize)> {
        classes(lengths).iter().map(|class| (class.shortest, class.longest, class.phrases)).collect()
    }

    #[test]
    fn phrases_of_similar_lengths_are_one_class() {
        assert_eq!(cut(&[(19, 500_000), (20, 300_000), (60, 200_000)]), [(19, 60, 1_000_000)]);
        assert_eq!(cut(&[(7, 1)]), [(7, 7, 1)]);
    }

    #[test]
    fn few_short_phrases_do_not_shorten_the_windows_of_many_long_ones() {
        assert_eq!(cut(&[(3, 1), (19, 900_000), (30, 100_000)]), [(3, 3, 1), (19, 30, 1_000_000)]);
        assert_eq!(cut(&[(3, 2), (8, 1000), (20, 1_000_000)]), [(3, 3, 2), (8, 8, 1000), (20, 20, 1_000_000)]);
    }

    #[test]
    fn lengths_without_end_make_few_classes_that_have_every_phrase() {
        let lengths: Vec<(usize, usize)> = (1..5000).map(|length| (length, length)).collect();
        let classes = classes(&lengths);
        assert!((1..=MOST_CLASSES).contains(&classes.len()), "{classes:?}");
        assert_eq!(
            classes.iter().map(|class| class.phrases).sum::<usize>(),
            lengths.iter().map(|(_, n)| *n).sum::<usize>()
        );
        assert!(classes.windows(2).all(|pair| pair[0].longest < pair[1].shortest));
        assert_eq!(classes.last().map(|class| class.longest), Some(4999));
    }
}
