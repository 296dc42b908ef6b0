//! What was heard of echoes, wherever from, and what they tell.

use super::EchoArgs;
use anyhow::{Result, bail};
use dwell_core::echo::{Echo, Exchange, Inside, Tally, join};
use dwell_core::host::salehin2013;
use dwell_core::{Circumstances, Report};
use serde::Serialize;

/// Echoes with the times of tap and host, and what could not be used.
#[derive(Default)]
pub(super) struct Heard {
    /// Where.
    pub(super) circumstances: Circumstances,
    pub(super) echoes: Vec<Echo>,
    pub(super) places: Vec<Place>,
    /// Echoes that the tap alone saw whole, and the host alone.
    pub(super) only: [u64; 2],
    pub(super) warnings: Vec<String>,
}

/// One place of capture.
#[derive(Serialize)]
pub(super) struct Place {
    /// `tap` or `host`.
    pub(super) place: &'static str,
    /// File or interface.
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) tally: Tally,
}

/// What one place heard.
pub(super) type Told = (String, Vec<Exchange>, Tally);

impl Heard {
    /// Of a tap, and of a second capture at the host where there is one.
    pub(super) fn of(args: &EchoArgs, world: &str, tap: Told, host: Option<Told>) -> Result<Self> {
        let mut heard = Self::default();
        world.clone_into(&mut heard.circumstances.world);
        let (name, seen, tally) = tap;
        heard.note("tap", name, tally)?;
        match host {
            None => heard.echoes = seen.iter().map(|seen| Echo::at_tap(seen, args.first_bits)).collect(),
            Some((name, inside, tally)) => {
                heard.note("host", name, tally)?;
                let joined = join(&seen, &inside, args.first_bits);
                heard.only = [joined.tap_only, joined.host_only];
                heard.echoes = joined.echoes;
                if heard.echoes.is_empty() {
                    bail!(
                        "the captures do not overlap: of {} echoes at the tap and {} at the host none is the same; \
                         capture both during the same probes",
                        seen.len(),
                        inside.len()
                    );
                }
                for (count, place) in heard.only.into_iter().zip(["tap", "host"]) {
                    if count > 0 {
                        heard.warnings.push(format!(
                            "{count} echoes were seen whole at the {place} alone, and are not used"
                        ));
                    }
                }
            }
        }
        Ok(heard)
    }

    /// Takes the host's times of the kernel's own answers from an observer inside it, where that saw them.
    pub(super) fn observed(&mut self, observer: Result<Inside>) {
        let (echoes, why) = match observer {
            Ok(inside) => {
                let seen = |echo: &Echo| Some(Echo { host: Some(inside.times(&echo.host?)?), ..*echo });
                (self.echoes.iter().filter_map(seen).collect(), "none of these echoes was seen".to_owned())
            }
            Err(why) => (Vec::new(), why.to_string()),
        };
        if echoes.is_empty() {
            self.warnings.push(format!(
                "t3 and t5 are where the host's capture sees request and reply, at its data link, and 2 PPT holds \
                 nothing of what its kernel does; inside it: {why}"
            ));
            return;
        }
        let missed = self.echoes.len() - echoes.len();
        if missed > 0 {
            self.warnings.push(format!("{missed} echoes were not seen inside the host, and are not used"));
        }
        let place = "protocol input and the reply's queueing discipline, seen inside the host's kernel";
        self.circumstances.notes.insert("t3, t5".to_owned(), place.to_owned());
        self.echoes = echoes;
    }

    fn note(&mut self, place: &'static str, name: String, tally: Tally) -> Result<()> {
        let unused = tally.unused();
        if tally.echoes == 0 {
            let why = if unused.is_empty() { String::new() } else { format!(" ({})", unused.join("; ")) };
            bail!("{name}: no whole echo among {} packets{why}", tally.packets);
        }
        self.warnings.extend(unused.into_iter().map(|why| format!("{place}: {why}")));
        self.circumstances.notes.insert(place.to_owned(), name.clone());
        self.places.push(Place { place, name, tally });
        Ok(())
    }

    /// The method's report, with what could not be used among its warnings.
    pub(super) fn report(&self) -> Report {
        let mut report = salehin2013::report(&self.echoes);
        report.warnings.extend(self.warnings.iter().cloned());
        report
    }
}
