//! The lower convex hull of points, and the line under all of them.

use super::{Line, finite_points};

/// The lower convex hull from left to right (Andrew's monotone chain); of points above each other only the lowest
/// counts.
#[must_use]
pub fn lower_hull(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut points = finite_points(points);
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in points {
        if hull.last().is_some_and(|last| last.0 == point.0) {
            continue;
        }
        while let [.., a, b] = hull[..] {
            // b stays only if it lies under the chord from a to the new point.
            if (b.1 - a.1) * (point.0 - a.0) < (point.1 - a.1) * (b.0 - a.0) {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// The line that lies under every point and is nearest to them in the sum of vertical distances: the estimate of
/// clock skew by Moon, Skelly and Towsley (INFOCOM 1999), who solve it as a linear program.
///
/// The sum of distances is n times the height of the points' centre over the line, so the best line is the one that
/// is highest at the mean x: the edge of the lower hull that spans it. `None` where all points share one x.
#[must_use]
pub fn line_under(points: &[(f64, f64)]) -> Option<Line> {
    let finite = finite_points(points);
    // Divided before they are summed: the mean of finite values stays finite.
    let mean = finite.iter().map(|(x, _)| x / finite.len() as f64).sum::<f64>();
    let hull = lower_hull(&finite);
    let mut edges = hull.windows(2);
    let edge = edges.find(|edge| mean <= edge[1].0).or_else(|| hull.windows(2).last())?;
    let slope = (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0);
    let line = Line { slope, intercept: edge[0].1 - slope * edge[0].0 };
    (line.slope.is_finite() && line.intercept.is_finite()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hull_of_a_cup() {
        let points =
            [(0.0, 3.0), (1.0, 1.0), (2.0, 2.0), (3.0, 1.5), (4.0, 5.0), (1.0, 9.0), (f64::NAN, 0.0)];
        assert_eq!(lower_hull(&points), [(0.0, 3.0), (1.0, 1.0), (3.0, 1.5), (4.0, 5.0)]);
    }

    #[test]
    fn no_line_through_one_x() {
        assert!(line_under(&[]).is_none());
        assert!(line_under(&[(1.0, 1.0), (1.0, 2.0)]).is_none());
    }

    proptest! {
        #[test]
        fn finds_the_skew_under_one_sided_noise(slope in -1e-3..1e-3f64, offset in -1e6..1e6f64,
                                                noise in prop::collection::vec(0.0..1e3f64, 50)) {
            // Points without noise near both ends pin the line down exactly.
            let points: Vec<(f64, f64)> = noise.iter().enumerate().map(|(i, n)| {
                let x = i as f64 * 1e6;
                (x, offset + slope * x + if i == 2 || i == 47 { 0.0 } else { *n })
            }).collect();
            let line = line_under(&points).unwrap();
            prop_assert!((line.slope - slope).abs() < 1e-12 + slope.abs() * 1e-6);
        }

        #[test]
        fn under_all_points_and_no_hull_edge_is_nearer(points in prop::collection::vec((-100.0..100.0f64, -100.0..100.0f64), 2..30)) {
            let hull = lower_hull(&points);
            let Some(best) = line_under(&points) else { return Ok(()) };
            let sum = |line: &Line| points.iter().map(|(x, y)| y - line.at(*x)).sum::<f64>();
            for (x, y) in &points {
                prop_assert!(best.at(*x) <= y + 1e-6 * (1.0 + best.slope.abs() * 200.0));
            }
            for edge in hull.windows(2) {
                let slope = (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0);
                if slope.abs() < 1e6 && best.slope.abs() < 1e6 {
                    let other = Line { slope, intercept: edge[0].1 - slope * edge[0].0 };
                    prop_assert!(sum(&best) <= sum(&other) + 1e-3 * (1.0 + slope.abs()));
                }
            }
        }

        #[test]
        fn never_panics(points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..30)) {
            let _ = (lower_hull(&points), line_under(&points));
        }
    }
}
