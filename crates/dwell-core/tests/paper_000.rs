//! The printed figures of papers/000 as test vectors: Tables 2 to 7, Figure 16's bounds, and sections 1, 3, 4.1, 5.3, 7.1 to
//! 7.4.
//!
//! Every figure is computed from what the paper prints of the measurement (the filtered gaps' [low, high] and average)
//! by the code that reports them, and must come out to its printed rounding. Where it does not, the slip stands here,
//! with its arithmetic, and the test fails also when a slip goes away.

use dwell_core::host::Salehin2015;
use dwell_core::host::salehin2015::{Config, GapFigures, Solution, solve};
use dwell_core::sizing::{Crossing, Link, clock, disperse, estimated_capacity, ratio};
use dwell_core::unit::INTER_FRAME_GAP;
use dwell_core::{BitRate, Bytes, Method, Nanos, PathFacts, Step};

/// One row of Table 5 (testbed) or 6 (Internet) and its row in Table 3 or 4; times in microseconds.
struct Row {
    name: &'static str,
    mbps: u64,
    /// [low, high], average for 87 and for 112 bytes.
    gaps: [([f64; 2], f64); 2],
    /// Table 5 or 6: G_avg(112) - G_avg(87), [m_low, m_high] (0 and 1 written out to the table's hundredths), m_avg,
    /// both expected gaps, dPPT.
    delta: &'static str,
    slopes: [&'static str; 2],
    slope: &'static str,
    expected: [&'static str; 2],
    differential: &'static str,
    /// Table 3 or 4: actual PPT, PPT_h, PPT_t, PPT_avg, error in per cent.
    actual: f64,
    ppt: [&'static str; 3],
    error: &'static str,
}

impl Row {
    fn solve(&self) -> Solution {
        let figures = |size, ([low, high], avg): ([f64; 2], f64)| GapFigures {
            size: Bytes(size),
            low: low * 1e3,
            high: high * 1e3,
            avg: avg * 1e3,
        };
        let gamma = BitRate::from_mbps(self.mbps).nanos_for(INTER_FRAME_GAP);
        solve(&figures(87, self.gaps[0]), &figures(112, self.gaps[1]), Some(gamma))
    }

    /// What the row prints and the equations do not yield, as 'row: column, printed, computed'.
    fn slips(&self) -> Vec<String> {
        let solution = self.solve();
        let us = |ns: f64| ns / 1e3;
        // The paper's errors are those of the printed PPT_avg.
        let average: f64 = self.ppt[2].parse().unwrap();
        let columns = [
            ("delta", self.delta, us(solution.trailing)),
            ("m_low", self.slopes[0], us(solution.m_low)),
            ("m_high", self.slopes[1], us(solution.m_high)),
            ("m_avg", self.slope, us(solution.m_avg)),
            ("expected gap of 87", self.expected[0], us(solution.expected[0])),
            ("expected gap of 112", self.expected[1], us(solution.expected[1])),
            ("dPPT", self.differential, us(solution.differential)),
            ("PPT_h", self.ppt[0], us(solution.heading)),
            ("PPT_t", self.ppt[1], us(solution.trailing)),
            ("PPT_avg", self.ppt[2], us(solution.average)),
            ("error", self.error, ((self.actual - average) / self.actual).abs() * 100.0),
        ];
        let wrong = columns.into_iter().filter(|(_, printed, computed)| !prints(*computed, printed));
        wrong
            .map(|(column, printed, computed)| {
                format!("{}: {column} printed {printed}, is {computed:.2}", self.name)
            })
            .collect()
    }
}

/// Whether `value` rounds to `printed` at the digits that are printed; halves may go either way.
fn prints(value: f64, printed: &str) -> bool {
    let digits = printed.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let unit = 10_f64.powi(-(digits as i32));
    (value - printed.parse::<f64>().unwrap()).abs() <= unit / 2.0 + 1e-9
}

const TESTBED: [Row; 8] = [
    Row {
        name: "D3000 C1-10",
        mbps: 10,
        gaps: [([77.0, 80.0], 79.0), ([96.0, 100.0], 98.0)],
        delta: "19",
        slopes: ["0.92", "0.64"],
        slope: "0.78",
        expected: ["77.46", "96.96"],
        differential: "2",
        actual: 21.0,
        ppt: ["17", "19", "18"],
        error: "14",
    },
    Row {
        name: "D3000 C2-100",
        mbps: 100,
        gaps: [([4.0, 5.0], 5.0), ([5.0, 7.0], 6.0)],
        delta: "1",
        slopes: ["0.12", "0.00"],
        slope: "0.06",
        expected: ["6.18", "7.68"],
        differential: "-2",
        actual: 14.0,
        ppt: ["3", "1", "2"],
        error: "86",
    },
    Row {
        name: "D3000 C3-100",
        mbps: 100,
        gaps: [([3.0, 5.0], 4.0), ([5.0, 7.0], 6.0)],
        delta: "2",
        slopes: ["0.16", "0.00"],
        slope: "0.08",
        expected: ["7.92", "9.92"],
        differential: "-4",
        actual: 14.0,
        ppt: ["6", "2", "4"],
        error: "71",
    },
    Row {
        name: "D3000 C4-100",
        mbps: 100,
        gaps: [([4.0, 6.0], 5.0), ([5.0, 7.0], 6.0)],
        delta: "1",
        slopes: ["0.12", "-0.04"],
        slope: "0.08",
        expected: ["7.92", "9.92"],
        differential: "-4",
        actual: 14.0,
        ppt: ["5", "1", "3"],
        error: "79",
    },
    Row {
        name: "I531S C1-10",
        mbps: 10,
        gaps: [([78.0, 80.0], 79.0), ([98.0, 100.0], 99.0)],
        delta: "20",
        slopes: ["0.88", "0.72"],
        slope: "0.8",
        expected: ["79.2", "99.2"],
        differential: "-1",
        actual: 16.0,
        ppt: ["21", "20", "21"],
        error: "31",
    },
    i531s_100("I531S C2-100", ["0.16", "0.00"]),
    i531s_100("I531S C3-100", ["0.16", "0.00"]),
    i531s_100("I531S C4-100", ["0.16", "0.00"]),
];

const INTERNET: [Row; 8] = [
    d3000_10("D3000 NYNJ-10"),
    d3000_10("D3000 TWNJ-10"),
    Row {
        name: "D3000 NYNJ-100",
        mbps: 100,
        gaps: [([4.0, 6.0], 5.0), ([5.0, 7.0], 6.0)],
        delta: "1",
        slopes: ["0.12", "-0.04"],
        slope: "0.08",
        expected: ["7.92", "9.92"],
        differential: "-4",
        actual: 14.0,
        ppt: ["5", "1", "3"],
        error: "79",
    },
    Row {
        name: "D3000 TWNJ-100",
        mbps: 100,
        gaps: [([3.0, 5.0], 4.0), ([5.0, 7.0], 6.0)],
        delta: "2",
        slopes: ["0.16", "0.00"],
        slope: "0.08",
        expected: ["7.92", "9.92"],
        differential: "-4",
        actual: 14.0,
        ppt: ["6", "2", "4"],
        error: "71",
    },
    i531s_10("I531S NYNJ-10"),
    i531s_10("I531S TWNJ-10"),
    i531s_100("I531S NYNJ-100", ["0.00", "0.16"]),
    i531s_100("I531S TWNJ-100", ["0.00", "0.16"]),
];

const fn d3000_10(name: &'static str) -> Row {
    Row {
        name,
        mbps: 10,
        gaps: [([75.0, 79.0], 77.0), ([96.0, 100.0], 98.0)],
        delta: "21",
        slopes: ["1.00", "0.68"],
        slope: "0.84",
        expected: ["82.68", "103.68"],
        differential: "-6",
        actual: 21.0,
        ppt: ["27", "21", "24"],
        error: "14",
    }
}

const fn i531s_10(name: &'static str) -> Row {
    Row {
        name,
        mbps: 10,
        gaps: [([78.0, 80.0], 79.0), ([98.0, 100.0], 99.0)],
        delta: "20",
        slopes: ["0.72", "0.88"],
        slope: "0.8",
        expected: ["79.2", "99.2"],
        differential: "-1",
        actual: 16.0,
        ppt: ["21", "20", "21"],
        error: "31",
    }
}

const fn i531s_100(name: &'static str, slopes: [&'static str; 2]) -> Row {
    Row {
        name,
        mbps: 100,
        gaps: [([6.0, 8.0], 7.0), ([8.0, 10.0], 9.0)],
        delta: "2",
        slopes,
        slope: "0.08",
        expected: ["7.92", "9.92"],
        differential: "-1",
        actual: 7.0,
        ppt: ["3", "2", "3"],
        error: "57",
    }
}

fn slips(rows: &[Row]) -> Vec<String> {
    rows.iter().flat_map(Row::slips).collect()
}

#[test]
fn tables_3_and_5() {
    assert_eq!(
        slips(&TESTBED),
        [
            // 5 - (0.06 * 87 + 0.96) = -1.18, and 1 + 1.18 = 2.18.
            "D3000 C2-100: dPPT printed -2, is -1.18",
            "D3000 C2-100: PPT_h printed 3, is 2.18",
            // (0.12 - 0.04) / 2 = 0.04, so 0.04 * 87 + 0.96 = 4.44 and 5 - 4.44 = 0.56. With the printed slope dPPT
            // would be 5 - 7.92 = -2.92, which does not round to -4 either.
            "D3000 C4-100: m_avg printed 0.08, is 0.04",
            "D3000 C4-100: expected gap of 87 printed 7.92, is 4.44",
            "D3000 C4-100: expected gap of 112 printed 9.92, is 5.44",
            "D3000 C4-100: dPPT printed -4, is 0.56",
            "D3000 C4-100: PPT_h printed 5, is 0.44",
            "D3000 C4-100: PPT_avg printed 3, is 0.72",
            // 79 - 79.2 = -0.2; 20 + 0.2 = 20.2; (20 + 20.2) / 2 = 20.1.
            "I531S C1-10: dPPT printed -1, is -0.20",
            "I531S C1-10: PPT_h printed 21, is 20.20",
            "I531S C1-10: PPT_avg printed 21, is 20.10",
            // (2 + 2.92) / 2 = 2.46: the printed 3 is the mean of the rounded 2 and 3, rounded again.
            "I531S C2-100: PPT_avg printed 3, is 2.46",
            "I531S C3-100: PPT_avg printed 3, is 2.46",
            "I531S C4-100: PPT_avg printed 3, is 2.46",
        ]
    );
}

#[test]
fn tables_4_and_6() {
    assert_eq!(
        slips(&INTERNET),
        [
            // The figures of D3000 on C4-100 again.
            "D3000 NYNJ-100: m_avg printed 0.08, is 0.04",
            "D3000 NYNJ-100: expected gap of 87 printed 7.92, is 4.44",
            "D3000 NYNJ-100: expected gap of 112 printed 9.92, is 5.44",
            "D3000 NYNJ-100: dPPT printed -4, is 0.56",
            "D3000 NYNJ-100: PPT_h printed 5, is 0.44",
            "D3000 NYNJ-100: PPT_avg printed 3, is 0.72",
            // For I531S, Table 6 prints [m_high, m_low] where Table 5 prints [m_low, m_high].
            "I531S NYNJ-10: m_low printed 0.72, is 0.88",
            "I531S NYNJ-10: m_high printed 0.88, is 0.72",
            "I531S NYNJ-10: dPPT printed -1, is -0.20",
            "I531S NYNJ-10: PPT_h printed 21, is 20.20",
            "I531S NYNJ-10: PPT_avg printed 21, is 20.10",
            "I531S TWNJ-10: m_low printed 0.72, is 0.88",
            "I531S TWNJ-10: m_high printed 0.88, is 0.72",
            "I531S TWNJ-10: dPPT printed -1, is -0.20",
            "I531S TWNJ-10: PPT_h printed 21, is 20.20",
            "I531S TWNJ-10: PPT_avg printed 21, is 20.10",
            "I531S NYNJ-100: m_low printed 0.00, is 0.16",
            "I531S NYNJ-100: m_high printed 0.16, is 0.00",
            "I531S NYNJ-100: PPT_avg printed 3, is 2.46",
            "I531S TWNJ-100: m_low printed 0.00, is 0.16",
            "I531S TWNJ-100: m_high printed 0.16, is 0.00",
            "I531S TWNJ-100: PPT_avg printed 3, is 2.46",
        ]
    );
}

/// Where a printed figure is wrong, the printed ones that were computed from it still follow from it.
#[test]
fn printed_figures_follow_from_each_other() {
    for row in TESTBED.iter().chain(&INTERNET) {
        let number = |text: &str| text.parse::<f64>().unwrap();
        // (16) and the mean, on the printed figures.
        let heading = number(row.ppt[1]) - number(row.differential);
        assert!(prints(heading, row.ppt[0]), "{}: PPT_h {heading}", row.name);
        let average = (heading + number(row.ppt[1])) / 2.0;
        assert!(prints(average, row.ppt[2]), "{}: PPT_avg {average}", row.name);
        // (6) on the printed slope.
        let gamma = 96.0 / row.mbps as f64;
        assert!(prints(number(row.slope) * 87.0 + gamma, row.expected[0]), "{}", row.name);
        assert!(prints(number(row.slope) * 112.0 + gamma, row.expected[1]), "{}", row.name);
    }
}

/// Section 3.1 prints mean errors of 14 and 77 % for D3000, 31 and 57 % for I531S.
#[test]
fn section_3_1_mean_errors() {
    let mean = |rows: &[Row]| {
        rows.iter().map(|row| row.error.parse::<f64>().unwrap()).sum::<f64>() / rows.len() as f64
    };
    assert!(prints(mean(&TESTBED[..1]), "14"));
    assert!(prints(mean(&TESTBED[4..5]), "31"));
    assert!(prints(mean(&TESTBED[5..]), "57"));
    // The slip: (86 + 71 + 79) / 3 = 78.67.
    assert!(!prints(mean(&TESTBED[1..4]), "77") && prints(mean(&TESTBED[1..4]), "79"));
}

/// Section 4.1: theoretical gaps of 80 and 100 us at 10 Mb/s, 8 and 10 us at 100 Mb/s.
#[test]
fn section_4_1_theoretical_gaps() {
    let gap = |mbps, size| BitRate::from_mbps(mbps).nanos_for(Bytes(size) + INTER_FRAME_GAP) / 1e3;
    assert!(prints(gap(100, 87), "8") && prints(gap(100, 112), "10"));
    // The slip: 69.6 + 9.6 = 79.2 and 89.6 + 9.6 = 99.2, which round to 79 and 99.
    assert!(prints(gap(10, 87), "79") && prints(gap(10, 112), "99"));
}

/// Section 2.1: with R = 1 us and c_n = 100 Mb/s the step from s_1 to s_2 is 200 bits.
#[test]
fn section_2_1_step() {
    let trailing = |mbps| {
        let facts = PathFacts {
            max_size: Bytes(1512),
            min_size: Bytes(87),
            resolution: Nanos::from_micros(1),
            end_link: Some(BitRate::from_mbps(mbps)),
            narrow_link: None,
            coalescence: None,
        };
        let config = Config { trailing: [Bytes(87), Bytes(88)], ..Config::default() };
        let Step::Send(fleet) = Salehin2015::new(config, &facts).next() else { panic!("nothing asked") };
        fleet[1].train.packets[1].size - fleet[0].train.packets[1].size
    };
    assert_eq!(trailing(100).bits(), 200);
    assert_eq!(trailing(1000).bits(), 2000);
}

/// Sections 3.1 and 7.2: packet-size ratios.
#[test]
fn packet_size_ratios() {
    assert!(prints(1502.0 / 87.0, "17.26") && prints(1502.0 / 112.0, "13.41"));
    assert!(prints(1512.0 / 112.0, "13.5"));
    // The slip: 1512 / 87 = 17.379, printed 17.37.
    assert!(!prints(1512.0 / 87.0, "17.37") && prints(1512.0 / 87.0, "17.38"));
}

/// Section 1: error that 2 us of PPT at each end make in one-way delay.
#[test]
fn section_1_errors() {
    let error = |mbps: u64, size: u64, queue: f64, propagation: f64| {
        4.0 / (BitRate::from_mbps(mbps).nanos_for(Bytes(size)) / 1e3 + queue + propagation) * 100.0
    };
    assert!(prints(error(100, 1500, 40.0, 0.5), "2.5"));
    assert!(prints(error(100, 40, 40.0, 0.5), "9"));
    assert!(prints(error(100, 40, 0.0, 0.5), "108"));
    assert!(prints(error(1000, 40, 0.0, 25.0), "16"));
}

/// Section 7.3: apparent delays of 56 and 216 us; PPT of 14 and 7 us at 100 Mb/s and 16 us for I531S at 10 Mb/s.
#[test]
fn section_7_3_one_way_delay() {
    for (apparent, source, destination, corrected, error) in
        [(56.0, 14.0, 7.0, "35", "60"), (216.0, 14.0, 16.0, "186", "16")]
    {
        let taken_off = source + destination;
        assert!(prints(apparent - taken_off, corrected));
        assert!(prints(taken_off / (apparent - taken_off) * 100.0, error));
    }
}

/// Section 7.4: 12.89 Mb in all, at 127.52 and 129 Kb/s (pause of 100 ms).
#[test]
fn section_7_4_probing_load() {
    let bits = |trailing| (Bytes(1512) + Bytes(trailing)).bits() as f64;
    assert!(prints(500.0 * (bits(87) + bits(112)) / 1e6, "12.89"));
    // The slips: 1599 B and 1624 B every 100 ms are 127.92 and 129.92 Kb/s.
    assert!(!prints(bits(87) / 0.1 / 1e3, "127.52") && prints(bits(87) / 0.1 / 1e3, "127.92"));
    assert!(!prints(bits(112) / 0.1 / 1e3, "129") && prints(bits(112) / 0.1 / 1e3, "129.92"));
}

/// A row of Table 2: capacities in Mb/s, link-capacity ratios, alpha calculated and evaluated.
struct PathRow {
    name: &'static str,
    mbps: [u64; 4],
    ratios: [&'static str; 3],
    calculated: &'static str,
    evaluated: &'static str,
    /// Section 5.3: s_t without and with one cross-traffic packet, evaluated in steps of 25 B.
    trailing: [u64; 2],
}

const PATHS: [PathRow; 4] = [
    PathRow {
        name: "C1-10",
        mbps: [100, 155, 100, 10],
        ratios: ["1.55", "0.645", "0.1"],
        calculated: "1",
        evaluated: "1",
        trailing: [1500, 1500],
    },
    PathRow {
        name: "C2-100",
        mbps: [10, 155, 10, 100],
        ratios: ["15.5", "0.064", "10"],
        calculated: "10",
        evaluated: "10",
        trailing: [150, 75],
    },
    PathRow {
        name: "C3-100",
        mbps: [100, 10, 155, 100],
        ratios: ["0.1", "15.5", "0.645"],
        calculated: "6.49",
        evaluated: "6.67",
        trailing: [225, 175],
    },
    PathRow {
        name: "C4-100",
        mbps: [10, 10, 155, 100],
        ratios: ["1", "15.5", "0.645"],
        calculated: "6.49",
        evaluated: "6.67",
        trailing: [225, 175],
    },
];

impl PathRow {
    fn links(&self) -> Vec<Link> {
        self.mbps.map(|mbps| Link::bare(BitRate::from_mbps(mbps))).to_vec()
    }

    /// Section 5.3's evaluation: s_t from 50 B in steps of 25, s_h = 1500 B; the largest whose estimate of c_4 is c_4.
    fn evaluated(&self, crossings: &[Crossing]) -> Option<u64> {
        let links = self.links();
        let right = |size: &u64| {
            estimated_capacity(&links, Bytes(1500), Bytes(*size), crossings) == Some(links[3].rate)
        };
        (50..=1500).step_by(25).take_while(right).last()
    }
}

/// `count` packets of 64 B ahead of P_h and as many between, on the second and third links.
fn crossings(count: u32) -> [Crossing; 3] {
    [Crossing::default(), Crossing::both(count, Bytes(64)), Crossing::both(count, Bytes(64))]
}

#[test]
fn table_2() {
    let mut slips = Vec::new();
    for row in &PATHS {
        let links = row.links();
        let mut column = |name: &str, printed: &str, computed: f64| {
            if !prints(computed, printed) {
                slips.push(format!("{}: {name} printed {printed}, is {computed:.3}", row.name));
            }
        };
        for (printed, computed) in row.ratios.iter().zip(ratio::capacities(&links)) {
            column("cr", printed, computed);
        }
        let published = ratio::published(&links).unwrap();
        column("alpha of (20), (22)", row.calculated, published.ratio);
        column("calculated alpha, at least 1", row.calculated, published.capped());
        column("evaluated alpha", row.evaluated, 1500.0 / row.evaluated(&[]).unwrap() as f64);
    }
    assert_eq!(
        slips,
        [
            // (20): 10 / 100 = 0.1, so s_t could be 15,000 B; the printed 1 holds if P_t is no larger than P_h.
            "C1-10: alpha of (20), (22) printed 1, is 0.100",
            // 10 / 155 = 0.0645, printed 0.064 here and 100 / 155 = 0.645 in the other rows: cut off, not rounded.
            "C2-100: cr printed 0.064, is 0.065",
            // (1/10 + 1/155) / (1/155 + 1/100) = 0.106452 / 0.016452 = 6.471.
            "C3-100: alpha of (20), (22) printed 6.49, is 6.471",
            "C3-100: calculated alpha, at least 1 printed 6.49, is 6.471",
            "C4-100: alpha of (20), (22) printed 6.49, is 6.471",
            "C4-100: calculated alpha, at least 1 printed 6.49, is 6.471",
        ]
    );
    // Where 6.49 comes from: s_t = 1500 / 6.471 = 231.8, which is 231 whole bytes, and 1500 / 231 = 6.494. The text rounds
    // the same size to 232, of which the ratio would be 6.466.
    let size = 1500.0 / ratio::published(&PATHS[2].links()).unwrap().ratio;
    assert!(prints(size, "232") && prints(1500.0 / size.floor(), "6.49") && prints(1500.0 / 232.0, "6.47"));
}

/// The text says 'the narrow link'; C2-100 has two, L_1 and L_3.
#[test]
fn table_2_needs_the_last_narrow_link() {
    let links = PATHS[1].links();
    assert_eq!(ratio::published(&links).unwrap().node, 3);
    // After the first narrow link the largest ratio is node 1's, and (23) with z = 1 gives (1/155 + 1/10 + 1/100) /
    // (1/10 + 1/155 + 1/10) = 0.564 s_h = 846 B, alpha = 1.77. It disperses.
    let first = 1500.0 * (1.0 / 155.0 + 1.0 / 10.0 + 1.0 / 100.0) / (1.0 / 10.0 + 1.0 / 155.0 + 1.0 / 10.0);
    assert!(prints(first, "846") && prints(1500.0 / first, "1.77"));
    let gaps = disperse(&links, Bytes(1500), Bytes(846), &[]);
    // Node 3: 846 B at 10 Mb/s less 1500 B at 100 Mb/s = 676.8 - 120 us.
    assert!(prints(gaps[3].dispersion / 1e3, "556.8"), "{gaps:?}");
    assert_eq!(disperse(&links, Bytes(1500), Bytes(150), &[])[3].dispersion, 0.0);
}

#[test]
fn figure_16_bounds() {
    for row in &PATHS {
        let links = row.links();
        for (count, printed) in [0, 1].into_iter().zip(row.trailing) {
            assert_eq!(row.evaluated(&crossings(count)), Some(printed), "{} with {count}", row.name);
            // The closed form lies in the step of 25 B above.
            let exact = ratio::largest_trailing(&links, Bytes(1500), &crossings(count)).unwrap();
            let step = printed as f64..(printed + 25) as f64;
            assert!(step.contains(&exact), "{} with {count}: {exact}", row.name);
        }
    }
    // Section 5.3: alpha from 10 to 20 on C2-100, from 6.67 to 8.57 on C3-100 and C4-100.
    let alpha = |row: &PathRow, i: usize| 1500.0 / row.trailing[i] as f64;
    assert!(prints(alpha(&PATHS[1], 0), "10") && prints(alpha(&PATHS[1], 1), "20"));
    for row in &PATHS[2..] {
        assert!(prints(alpha(row, 0), "6.67") && prints(alpha(row, 1), "8.57"));
    }
}

/// Section 5.3 ends: 'the largest packet-size ratio achievable on Ethernet is sufficient to ensure a zero-dispersion gap
/// in the considered testbed configurations'. That is so for one cross-traffic packet; for 5 and 10, which Figures 16(f)
/// to 16(h) show too, no size is small enough.
#[test]
fn section_5_3_five_packets_are_too_many() {
    for row in &PATHS {
        let links = row.links();
        for count in [5, 10] {
            let largest = ratio::largest_trailing(&links, Bytes(1500), &crossings(count));
            if row.name == "C1-10" {
                assert_eq!(largest, Some(1500.0));
            } else {
                assert_eq!(largest, None, "{} with {count}", row.name);
                let gap = disperse(&links, Bytes(1500), Bytes(1), &crossings(count))[3];
                assert!(gap.dispersion > 0.0, "{} with {count}: {gap:?}", row.name);
            }
        }
    }
    // C2-100: five packets of 64 B take 256 us on L_3, and P_h takes 120 us on L_4: 136 us are left.
    let gaps = disperse(&PATHS[1].links(), Bytes(1500), Bytes(0), &crossings(5));
    assert!(prints(gaps[3].dispersion / 1e3, "136"), "{gaps:?}");
}

/// A row of Table 7: capacity in Mb/s, actual and 'measured' PPT in microseconds, error in per cent.
const TABLE_7: [(&str, u64, f64, f64, &str); 4] = [
    ("D3000", 10, 21.0, 9.0, "57"),
    ("I531S", 10, 16.0, 9.0, "44"),
    ("D3000", 100, 14.0, 2.0, "86"),
    ("I531S", 100, 7.0, 4.0, "43"),
];

#[test]
fn table_7() {
    for (host, mbps, actual, measured, error) in TABLE_7 {
        // The error column follows from the other two.
        assert!(prints((actual - measured) / actual * 100.0, error), "{host} at {mbps} Mb/s");
    }
    // The slip: the 'measured' column follows from nothing. A clock of R = 1 us moves (15) by 2 R at most, so it yields
    // 20 +- 2 us at 10 Mb/s and 2 +- 2 us at 100 Mb/s, whatever the host. The table's 9 us are outside.
    let within = |mbps, measured: f64| {
        let difference = BitRate::from_mbps(mbps).nanos_for(Bytes(25));
        let off = clock::salehin2015(Nanos(1_000), [Bytes(87), Bytes(112)], difference, 500).trailing.most;
        ((difference - off)..=(difference + off)).contains(&(measured * 1e3))
    };
    assert_eq!(TABLE_7.map(|(_, mbps, _, measured, _)| within(mbps, measured)), [false, false, true, true]);
    // And for I531S at 100 Mb/s, 4 us is the end nearer to the actual 7: 0 us would be an error of 100 %, so 43 % is the
    // least error that the clock leaves there, not the 'maximum'.
    assert!(within(100, 0.0) && !within(100, 4.1));
}

/// Section 7.1's question with an answer: what R = 1 us alone does to (15), as a share of the actual PPT.
#[test]
fn table_7_by_the_equations() {
    let off = clock::salehin2015(Nanos(1_000), [Bytes(87), Bytes(112)], 2_000.0, 500).trailing;
    let percent = TABLE_7.map(|(_, _, actual, _, _)| off.share_of(actual * 1e3).most * 100.0);
    for (computed, expected) in percent.into_iter().zip(["10", "13", "14", "29"]) {
        assert!(prints(computed, expected), "{computed} {expected}");
    }
}
