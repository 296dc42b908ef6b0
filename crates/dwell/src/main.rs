//! Where a packet's time goes: the command.
mod picture;
use picture::*;
fn main() {
    let mut s = 12345u64;
    let mut r = move || {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (s >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut points = vec![];
    for i in 0..400 {
        let x = 2.0 + 118.0 * i as f64 / 400.0;
        let a = 61.0 + 8.0 * (r() + r() + r() - 1.5);
        let g = if x < a { 20.8 + r() } else { x + 11.0 + 2.0 * r() + if r() > 0.97 { 60.0 } else { 0.0 } };
        points.push((x, g));
    }
    let hist = Histogram {
        title: "Gaps of pairs with a trailing packet of 112 B".into(),
        before: points.iter().map(|p| p.1).collect(),
        after: points.iter().map(|p| p.1).filter(|g| *g < 60.0).collect(),
        bin: 1.0,
    };
    let gaps = Gaps {
        points,
        level: Some(20.8),
        offset: Some(11.9),
        stage: Extent::Value { value: 61.2, low: 60.0, high: 63.8 },
    };
    let v = |value: f64, e: f64| Extent::Value { value, low: value - e, high: value + e };
    let bars = Bars {
        bars: vec![
            Bar { name: "sender host".into(), start: 0.0, extent: v(12.0, 1.0) },
            Bar { name: "path".into(), start: 12.0, extent: v(80.0, 2.0) },
            Bar { name: "end link".into(), start: 92.0, extent: v(6.9, 0.2) },
            Bar { name: "receiver's kernel".into(), start: 98.9, extent: Extent::AtMost(9.0) },
            Bar { name: "receiver's application".into(), start: 107.9, extent: v(61.2, 2.0) },
        ],
        whole: ("apparent one-way delay".into(), v(169.1, 3.0)),
    };
    let mut cells = vec![];
    for t in ["100 Mb/s", "1 Gb/s", "unshaped", "cross 0.3"] {
        let mut a = vec![];
        let mut b = vec![];
        for k in 0..60 {
            let truth = 30.0 + (k % 6) as f64 * 16.0 + 3.0 * r();
            let e = truth + 4.0 * (r() - 0.5);
            a.push(Mark { truth, estimate: e, low: e - 3.0, high: e + 3.0 });
            let e = truth * 0.3 + 2.0 * r();
            b.push(Mark { truth, estimate: e, low: e - 2.0, high: e + 2.0 });
        }
        cells.push(Cell { title: t.into(), series: vec![a, b] });
    }
    let judged = Judged {
        quantity: "application stage".into(),
        methods: vec!["knee/application".into(), "salehin2015/capture".into()],
        cells,
    };
    Picture {
        title: "The receiving application keeps a packet for 61.2 µs, 36 % of its one-way delay".into(),
        notes: vec!["dwell 0.1.0, simulator, seed 1".into(), "400 probes, 57,600 bytes, 4.2 s".into()],
        panels: vec![Box::new(bars), Box::new(gaps), Box::new(hist), Box::new(judged)],
    }
    .write("/tmp/cmdpic.svg".as_ref())
    .unwrap();
}
