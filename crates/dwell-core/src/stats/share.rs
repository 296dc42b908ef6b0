//! Shares of what was tried.

use super::NORMAL;

/// The 95 % interval of a share seen in `n` trials (Wilson 1927): not empty where nothing was lost.
pub(crate) fn wilson(share: f64, n: f64) -> (f64, f64) {
    let z2 = NORMAL * NORMAL;
    let centre = share + z2 / (2.0 * n);
    let reach = NORMAL * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    (((centre - reach) / scale).max(0.0), ((centre + reach) / scale).min(1.0))
}
