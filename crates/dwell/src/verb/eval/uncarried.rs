//! Measurements that say nothing of a method: the lab, asked right before, did not carry what a train needs, or its NIC did
//! something else than what it was asked for.

use super::rows::{Row, condition_text};
use super::sheet::Sheet;
use serde::Serialize;

/// Of one method in one condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Uncarried {
    condition: String,
    method: String,
    /// How many of its figures.
    figures: usize,
    /// What the lab did before the last of them.
    reason: String,
}

/// All of them, in the order in which they came.
pub(super) fn uncarried(rows: &[Row]) -> Vec<Uncarried> {
    let mut all: Vec<Uncarried> = Vec::new();
    for row in rows {
        let Some(reason) = row.uncarried.clone() else { continue };
        let (condition, method) = (condition_text(&row.condition), row.method.clone());
        match all.iter_mut().find(|one| one.condition == condition && one.method == method) {
            Some(one) => {
                one.figures += 1;
                one.reason = reason;
            }
            None => all.push(Uncarried { condition, method, figures: 1, reason }),
        }
    }
    all
}

/// The same for a reader; `None` where there is nothing.
pub(super) fn sheet(left_out: &[Uncarried]) -> Option<Sheet> {
    let rows = left_out.iter().map(|one| {
        vec![one.condition.clone(), one.method.clone(), one.figures.to_string(), one.reason.clone()]
    });
    (!left_out.is_empty()).then(|| Sheet {
        title: "The lab does not carry this: judged on the simulator, and not counted here".to_owned(),
        heads: vec![
            "condition",
            "method",
            "figures",
            "what the lab did when it was asked, right before the last of them",
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::eval::grid::EvalWorld;
    use crate::verb::eval::place::Place;
    use crate::verb::eval::rows::Origin;
    use dwell_core::{Effort, Finding, Quantity, Vantage};

    #[test]
    fn what_the_lab_did_not_carry_is_told_once_a_condition() {
        let row = |run, reason: Option<&str>| {
            let origin = Origin {
                world: EvalWorld::Lab,
                place: Place { block: "b".to_owned(), condition: 0, run },
                condition: [].into(),
                method: "coalescence".to_owned(),
                stamps: Vantage::Application,
                effort: Effort::default(),
                seconds: 0.0,
            };
            let finding = Finding::nanos(50.0, 45.0, 55.0);
            let mut row = Row::new(&origin, Quantity::CoalescencePeriod, &finding, Some(25.0), None);
            row.uncarried = reason.map(str::to_owned);
            row
        };
        let rows = [row(0, Some("too slow")), row(1, Some("slower")), row(2, None)];
        let told = uncarried(&rows);
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].figures, told[0].reason.as_str()), (2, "slower"));
        assert_eq!(uncarried(&rows[2..]), []);
        assert!(sheet(&told).unwrap().text().contains("slower"));
        assert!(sheet(&[]).is_none());
    }
}
