use super::*;

/// A link with a queue, and one connection on it: its window doubles each round trip until the queue overflows, and
/// then grows by a segment.
struct Fluid {
    rate: f64,
    base: f64,
    /// The least that `base` was.
    least: f64,
    room: f64,
    window: f64,
    offered: f64,
    received: f64,
    at: f64,
    cut: bool,
}

impl Fluid {
    const TICK: f64 = 0.002;

    fn new(mbps: f64, base_ms: f64, room: f64) -> Self {
        let base = base_ms / 1e3;
        Self {
            rate: mbps * 1e6 / 8.0,
            base,
            least: base,
            room,
            window: 14_480.0,
            offered: f64::INFINITY,
            received: 0.0,
            at: 0.0,
            cut: false,
        }
    }

    fn held(&self) -> f64 {
        self.window.min(self.offered)
    }

    fn queue(&self) -> f64 {
        (self.held() - self.rate * self.base).clamp(0.0, self.room)
    }

    fn rtt(&self) -> f64 {
        self.base + self.queue() / self.rate
    }

    fn tick(&mut self) -> Seen {
        let rate = (self.held() / self.base).min(self.rate);
        self.received += rate * Self::TICK;
        self.least = self.least.min(self.base);
        self.at += Self::TICK;
        if self.held() > self.rate * self.base + self.room {
            self.window *= 0.7;
            self.cut = true;
        } else if self.cut {
            self.window += 1448.0 * Self::TICK / self.rtt();
        } else if self.window <= self.offered {
            self.window *= 2f64.powf(Self::TICK / self.rtt());
        }
        let nanos = |seconds: f64| Nanos::from_f64(seconds * 1e9);
        Seen {
            at: nanos(self.at),
            received: Bytes(self.received as u64),
            rtt: nanos(self.rtt()),
            min_rtt: nanos(self.least),
        }
    }

    /// Runs under SOBAS for so long; the rate of the last half over the link's, and the round trip at the end over the
    /// path's.
    fn run(&mut self, sobas: &mut Sobas, seconds: f64) -> (f64, f64) {
        let (middle, end) = (self.at + seconds / 2.0, self.at + seconds);
        let mut half = None;
        while self.at < end {
            let seen = self.tick();
            match sobas.see(seen) {
                Step::Keep => {}
                Step::Offer(window) => self.offered = window.0 as f64,
            }
            if self.at >= middle && half.is_none() {
                half = Some((self.at, self.received));
            }
        }
        let (at, received) = half.unwrap();
        ((self.received - received) / (self.at - at) / self.rate, self.rtt() / self.base)
    }
}

#[test]
fn the_window_becomes_what_the_path_holds_and_no_more() {
    for (mbps, base, queue) in
        [(100.0, 40.0, 4e6), (10.0, 20.0, 1e6), (1000.0, 10.0, 8e6), (100.0, 5.0, 1e6), (50.0, 100.0, 2e5)]
    {
        let mut path = Fluid::new(mbps, base, queue);
        let (rate, delay) = path.run(&mut Sobas::new(Bytes(1448)), 15.0);
        assert!(rate >= 0.98, "{mbps} Mb/s, {base} ms: {rate} of the link's rate");
        assert!(delay <= 1.2, "{mbps} Mb/s, {base} ms: {delay} of the least round trip");
    }
}

#[test]
fn without_a_queue_nothing_is_sized() {
    // A sender that is cut off at half of the link's rate.
    let mut path = Fluid::new(100.0, 20.0, 1e6);
    path.offered = 125_000.0;
    let mut sobas = Sobas::new(Bytes(1448));
    while path.at < 5.0 {
        let seen = path.tick();
        assert_eq!(sobas.see(seen), Step::Keep);
    }
    assert_eq!(sobas.flat_rate(), None);
}

#[test]
fn a_path_that_becomes_slower_is_sized_anew() {
    let mut path = Fluid::new(100.0, 20.0, 2e6);
    let mut sobas = Sobas::new(Bytes(1448));
    path.run(&mut sobas, 5.0);
    path.rate = 5e6;
    path.run(&mut sobas, 7.0);
    let rate = sobas.flat_rate().unwrap();
    assert!((rate - 5e6).abs() < 2.5e5, "{rate}");
}

#[test]
fn a_path_that_becomes_longer_is_sized_anew_and_so_when_it_is_short_again() {
    for (mbps, short, long) in
        [(20.0, 10.0, 40.0), (100.0, 20.0, 30.0), (100.0, 5.0, 100.0), (10.0, 40.0, 80.0)]
    {
        let mut path = Fluid::new(mbps, short, 2e6);
        let mut sobas = Sobas::new(Bytes(1448));
        path.run(&mut sobas, 5.0);
        for base in [long, short, long] {
            path.base = base / 1e3;
            path.run(&mut sobas, 14.0);
            let (rate, delay) = path.run(&mut sobas, 30.0);
            assert!(rate >= 0.98, "{mbps} Mb/s, {base} of {short} and {long} ms: {rate} of the link's rate");
            assert!(
                delay <= 1.2,
                "{mbps} Mb/s, {base} of {short} and {long} ms: {delay} of the least round trip"
            );
        }
    }
}

#[test]
fn a_longer_path_that_carries_less_keeps_no_queue() {
    let mut path = Fluid::new(100.0, 10.0, 2e6);
    let mut sobas = Sobas::new(Bytes(1448));
    path.run(&mut sobas, 5.0);
    (path.base, path.rate) = (0.04, 5e6);
    let (rate, delay) = path.run(&mut sobas, 20.0);
    assert!(rate >= 0.98 && delay <= 1.2, "{rate}, {delay}");
}
