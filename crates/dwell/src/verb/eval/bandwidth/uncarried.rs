//! Measurements that say nothing of a tool: the lab, asked right before, did not carry what a train needs.

use crate::verb::eval::rows::{Row, condition_text};
use serde::Serialize;

/// Of one tool in one condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Uncarried {
    pub(super) condition: String,
    pub(super) method: String,
    /// How many.
    pub(super) measurements: usize,
    /// What the lab did before the last of them.
    pub(super) reason: String,
}

/// All of them, in the order in which they came.
pub(super) fn uncarried(rows: &[Row]) -> Vec<Uncarried> {
    let mut all: Vec<Uncarried> = Vec::new();
    for row in rows {
        let Some(reason) = row.met.as_ref().and_then(|met| met.uncarried.clone()) else { continue };
        let (condition, method) = (condition_text(&row.condition), row.method.clone());
        match all.iter_mut().find(|one| one.condition == condition && one.method == method) {
            Some(one) => {
                one.measurements += 1;
                one.reason = reason;
            }
            None => all.push(Uncarried { condition, method, measurements: 1, reason }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::cell::tests::row;
    use super::*;

    #[test]
    fn what_the_lab_did_not_carry_is_told_once_a_condition() {
        let mut rows: Vec<Row> = (0..3).map(|run| row("a", run, None, 0)).collect();
        for (row, reason) in rows.iter_mut().zip(["too slow", "slower"]) {
            row.met.as_mut().unwrap().uncarried = Some(reason.to_owned());
        }
        let told = uncarried(&rows);
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].measurements, told[0].reason.as_str()), (2, "slower"));
        assert_eq!(uncarried(&rows[2..]), []);
    }
}
