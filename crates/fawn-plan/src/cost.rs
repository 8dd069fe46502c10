//! What nodes cost over the years (FAWN SOSP'09 §5.2): what they cost to buy, and the energy that they take.
//!
//! Beyond the paper: what the building takes for each watt, rent instead of both, and ranges where sources give them.

use serde::Serialize;

use crate::{Assumptions, NodeOption, Quantity};

/// Dollars, with the range that the sources leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Dollars {
    /// What is reckoned with.
    pub value: f64,
    /// With the lowest prices, and nodes that are always at rest where it is known what they take then.
    pub low: f64,
    /// With the highest prices, and nodes that are always busy.
    pub high: f64,
}

impl Dollars {
    fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, low: self.low + other.low, high: self.high + other.high }
    }

    fn times(self, times: f64) -> Self {
        Self { value: self.value * times, low: self.low * times, high: self.high * times }
    }
}

/// What nodes cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// To buy them.
    pub capital: Dollars,
    /// Energy over the years, of nodes that are always busy.
    pub energy: Dollars,
    /// Rent over the years, with the energy in it.
    pub rent: Dollars,
    /// All together.
    pub total: Dollars,
    /// Kilowatt-hours over the years, the building's included; `None` where watts are unknown.
    pub kwh: Option<f64>,
}

impl Cost {
    /// One node over the years; `None` where a price or watts are unknown.
    pub fn of_node(option: &NodeOption, assumptions: &Assumptions) -> Option<Self> {
        let none = Dollars::default();
        let busy = option.figure(Quantity::WattsStress);
        let kwh = busy.map(|watts| watts.value / 1000.0 * assumptions.hours() * assumptions.pue);
        if let Some(rent) = option.figure(Quantity::RentDollarsHour) {
            let rent = Dollars { value: rent.value, low: rent.low, high: rent.high }.times(assumptions.hours());
            return Some(Self { capital: none, energy: none, rent, total: rent, kwh });
        }
        let (price, busy) = (option.figure(Quantity::PriceDollars)?, busy?);
        let capital = Dollars { value: price.value, low: price.low, high: price.high };
        let rest = option.figure(Quantity::WattsIdle).map_or(busy.low, |rest| rest.low.min(busy.low));
        let watts = Dollars { value: busy.value, low: rest, high: busy.high };
        let energy = watts.times(assumptions.watt_dollars());
        Some(Self { capital, energy, rent: none, total: capital.plus(energy), kwh })
    }

    /// So many of them.
    #[must_use]
    pub fn times(&self, nodes: f64) -> Self {
        Self {
            capital: self.capital.times(nodes),
            energy: self.energy.times(nodes),
            rent: self.rent.times(nodes),
            total: self.total.times(nodes),
            kwh: self.kwh.map(|kwh| kwh * nodes),
        }
    }
}

/// What an option lacks for its cost to be known.
pub fn unknown_cost(option: &NodeOption) -> Vec<Quantity> {
    if option.figure(Quantity::RentDollarsHour).is_some() {
        return Vec::new();
    }
    let needed = [Quantity::PriceDollars, Quantity::WattsStress];
    needed.into_iter().filter(|quantity| option.figure(*quantity).is_none()).collect()
}

/// What would have to change for the second of two to become the cheaper one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Flip {
    /// By which share of its price the first would have to become dearer; `None` if its price is nothing.
    pub first_dearer: Option<f64>,
    /// By which share of its price the second would have to become cheaper; `None` where even for nothing it is not.
    pub second_cheaper: Option<f64>,
    /// Dollars a kilowatt-hour at which both cost the same; `None` where there are none.
    pub kwh_dollars: Option<f64>,
}

impl Flip {
    /// Between the cheapest and the next.
    pub fn between(first: &Cost, second: &Cost, kwh_dollars: f64) -> Self {
        let apart = second.total.value - first.total.value;
        let bought = |cost: &Cost| cost.capital.value + cost.rent.value;
        let share = |cost: &Cost| (bought(cost) > 0.0).then(|| apart / bought(cost));
        // Rent does not follow the price of a kilowatt-hour.
        let slope = |cost: &Cost| if cost.rent.value > 0.0 { Some(0.0) } else { cost.kwh };
        let flat = |cost: &Cost| cost.total.value - slope(cost).unwrap_or(0.0) * kwh_dollars;
        let equal = slope(first).zip(slope(second)).and_then(|(a, b)| {
            let price = (flat(second) - flat(first)) / (a - b);
            (price.is_finite() && price >= 0.0).then_some(price)
        });
        Self {
            first_dearer: share(first),
            second_cheaper: share(second).filter(|share| *share <= 1.0),
            kwh_dollars: equal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, Date};

    #[test]
    fn a_watt_costs_2_628_dollars_in_the_papers_three_years() {
        let catalogue = Catalogue::built_in("paper-2009").unwrap();
        let assumptions = Assumptions::of(&catalogue, Date::of_unix_days(20_000).unwrap());
        assert!((assumptions.watt_dollars() - 2.628).abs() < 1e-12);
        let node = Cost::of_node(&catalogue.options[4], &assumptions).unwrap();
        assert!((node.total.value - 539.42).abs() < 1e-9, "{node:?}");
        assert_eq!(node.kwh, Some(394.2));
    }

    #[test]
    fn at_the_price_that_flips_both_cost_the_same() {
        let catalogue = Catalogue::built_in("paper-2009").unwrap();
        let mut assumptions = Assumptions::of(&catalogue, Date::of_unix_days(20_000).unwrap());
        let costs = |assumptions: &Assumptions| {
            let cost = |at: usize, nodes| Cost::of_node(&catalogue.options[at], assumptions).unwrap().times(nodes);
            (cost(4, 150.0), cost(1, 10.0))
        };
        let (first, second) = costs(&assumptions);
        let flip = Flip::between(&first, &second, assumptions.kwh_dollars);
        assert!(first.total.value < second.total.value);
        let dearer = first.total.value + first.capital.value * flip.first_dearer.unwrap();
        assert!((dearer - second.total.value).abs() < 1e-6);
        let cheaper = second.total.value - second.capital.value * flip.second_cheaper.unwrap();
        assert!((cheaper - first.total.value).abs() < 1e-6);
        assumptions.kwh_dollars = flip.kwh_dollars.unwrap();
        let (first, second) = costs(&assumptions);
        assert!((first.total.value - second.total.value).abs() < 1e-6, "{flip:?}");
    }
}
