//! All methods one after another: who answers, what each link carries, what the path carries up to each hop, where the
//! queue stands.

use super::{HopFacts, HopMethod, HopStep, Joined, Pathchar, Pathneck, Route, Segment, Spent, Survey, join};
use crate::unit::Nanos;
use std::collections::BTreeMap;

/// A whole look at a path.
#[derive(Clone, Debug)]
pub struct Walk {
    survey: Survey,
    patience: Nanos,
    measuring: Option<Measuring>,
}

/// The methods that need the route.
#[derive(Clone, Debug)]
struct Measuring {
    patience: Nanos,
    route: Route,
    pathchar: Pathchar,
    segment: Segment,
    /// Made when it is known how often the hops may be asked.
    pathneck: Option<Pathneck>,
    now: Stage,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    Pathchar,
    Segment,
    Pathneck,
}

impl Walk {
    /// Its name in records.
    pub const NAME: &'static str = "hops";

    /// Of a path of which this is known. `pathchar` goes on for half of `patience` at most, `segment` and `pathneck` for a
    /// third, where they are not done before.
    #[must_use]
    pub fn new(facts: HopFacts, patience: Nanos) -> Self {
        Self { survey: Survey::new(facts), patience, measuring: None }
    }

    /// The patience that is usual: under load no shorter look tells much of the hops that are far away.
    pub const PATIENCE: Nanos = Nanos::from_secs(30);

    /// What is measured now, by its published name.
    #[must_use]
    pub fn stage(&self) -> &'static str {
        match self.measuring.as_ref().map(|measuring| measuring.now) {
            None => Survey::NAME,
            Some(Stage::Pathchar) => Pathchar::NAME,
            Some(Stage::Segment) => Segment::NAME,
            Some(Stage::Pathneck) => Pathneck::NAME,
        }
    }

    /// The hops, as far as they are known.
    #[must_use]
    pub fn route(&self) -> Route {
        self.measuring.as_ref().map_or_else(|| self.survey.route(), |measuring| measuring.route.clone())
    }

    /// What is known now.
    #[must_use]
    pub fn joined(&self) -> Joined {
        match &self.measuring {
            Some(Measuring { route, pathchar, segment, pathneck, .. }) => {
                let none = || Pathneck::new(route, None, Nanos::ZERO);
                join(route, pathchar, segment, pathneck.as_ref().unwrap_or(&none()))
            }
            None => {
                let route = self.survey.route();
                join(
                    &route,
                    &Pathchar::new(&route, Nanos::ZERO),
                    &Segment::new(&route, BTreeMap::new(), Nanos::ZERO),
                    &Pathneck::new(&route, None, Nanos::ZERO),
                )
            }
        }
    }
}

impl Measuring {
    fn new(route: Route, patience: Nanos) -> Self {
        let pathchar = Pathchar::new(&route, patience / 2);
        let segment = Segment::new(&route, BTreeMap::new(), patience / 3);
        Self { patience, pathchar, segment, pathneck: None, now: Stage::Pathchar, route }
    }

    /// How often the hop answers that limits its messages most.
    fn slowest(&self) -> Option<Nanos> {
        self.route.answering().filter_map(|stop| self.pathchar.limit(stop.hop)).max()
    }

    fn method(&mut self) -> &mut dyn HopMethod {
        let (slowest, patience) = (self.slowest(), self.patience / 3);
        match self.now {
            Stage::Pathchar => &mut self.pathchar,
            Stage::Segment => &mut self.segment,
            Stage::Pathneck => {
                self.pathneck.get_or_insert_with(|| Pathneck::new(&self.route, slowest, patience))
            }
        }
    }
}

impl HopMethod for Walk {
    fn next(&mut self) -> HopStep {
        if self.measuring.is_none() {
            match self.survey.next() {
                HopStep::Fire(round) => return HopStep::Fire(round),
                HopStep::Done => self.measuring = Some(Measuring::new(self.survey.route(), self.patience)),
            }
        }
        let Some(measuring) = &mut self.measuring else { return HopStep::Done };
        loop {
            if let HopStep::Fire(round) = measuring.method().next() {
                return HopStep::Fire(round);
            }
            measuring.now = match measuring.now {
                Stage::Pathchar => {
                    measuring.route.serialisation = measuring.pathchar.serialisation();
                    let alone = measuring.pathchar.alone();
                    measuring.segment = Segment::new(&measuring.route, alone, measuring.patience / 3);
                    Stage::Segment
                }
                Stage::Segment => Stage::Pathneck,
                Stage::Pathneck => return HopStep::Done,
            };
        }
    }

    fn see(&mut self, sighting: &[Spent]) {
        match &mut self.measuring {
            None => self.survey.see(sighting),
            Some(measuring) => measuring.method().see(sighting),
        }
    }
}
