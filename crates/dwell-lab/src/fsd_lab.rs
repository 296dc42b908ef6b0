//! `fsd` in a lab: a prober at the source, a tap at either end, and for the truth a tap on either side of the router.

use crate::awake::Awake;
use crate::error::LabError;
use crate::lab::LabOptions;
use crate::placement::{Cores, Role, settle};
use crate::testbed::Carriage;
use crate::wiring::{DOWN_PORT, HOST_PORT, Place, UP_PORT, Wiring};
use dwell_core::fsd::{Crossed, Pair, cross};
use dwell_core::stats::quantile::median;
use dwell_net::echo::Asking;
use dwell_net::fsd::{FsdProber, FsdTap, Router, probe};
use dwell_sim::Scenario;
use std::net::IpAddr;

/// A path whose links are joined by routers of this machine's kernel.
pub struct FsdLab {
    wiring: Wiring,
    cores: Cores,
    hop: u8,
    address: IpAddr,
    _awake: Awake,
}

/// What was heard of a run of pairs.
#[derive(Clone, Debug)]
pub struct FsdHeard {
    /// Who was probed.
    pub router: Router,
    /// At source and destination.
    pub ends: Crossed,
    /// On either side of the router, by one clock.
    pub inside: Crossed,
}

impl FsdLab {
    /// Builds the path of `scenario`, with a router between each link and the next; the one to be probed is the router
    /// of number `hop`, from 1.
    ///
    /// # Errors
    /// One line that says what the system refused, what is missing, or what of the scenario cannot be done here.
    pub fn up(scenario: &Scenario, options: LabOptions, hop: u8) -> Result<Self, LabError> {
        let routers = scenario.links.len().saturating_sub(1);
        let refused = |reason: String| Err(LabError::Scenario { scenario: scenario.name.clone(), reason });
        if Carriage::of(scenario) != Carriage::Bridge {
            return refused(
                "a lab of routers has plain wires: make each link rate = \"unshaped\" with nothing else, and give no \
                 host a nic"
                    .to_owned(),
            );
        }
        if !(1..=routers).contains(&hop.into()) {
            return refused(format!(
                "hop {hop} is no router: {} links are joined by {routers}",
                scenario.links.len()
            ));
        }
        let mtu = u32::try_from(scenario.mtu.0).unwrap_or(u32::MAX);
        let wiring = Wiring::new(routers, mtu)?;
        if options.ipv6 && !wiring.ipv6 {
            return Err(LabError::NoIpv6);
        }
        wiring.route(&(0..routers).collect::<Vec<_>>())?;
        let address = if options.ipv6 { Place::DESTINATION.ipv6() } else { Place::DESTINATION.ipv4() };
        let cores = options.cores.unwrap_or_else(Cores::allowed);
        let awake = Awake::keep(&wiring.source, cores)?;
        Ok(Self { wiring, cores, hop, address, _awake: awake })
    }

    /// Sends pairs, and tells what was heard.
    ///
    /// # Errors
    /// When the router does not answer, or a part of the lab failed.
    pub fn run(&self, asking: Asking, told: &mut (dyn FnMut(u32) + Send)) -> Result<FsdHeard, LabError> {
        let open = |port: &'static str| {
            move || FsdTap::open(port).map_err(LabError::system(format!("open a tap on {port}")))
        };
        let Wiring { source, destination, nodes, .. } = &self.wiring;
        let router = &nodes[usize::from(self.hop) - 1];
        let mut taps = [
            source.within(open(HOST_PORT))?,
            destination.within(open(HOST_PORT))?,
            router.within(open(UP_PORT))?,
            router.within(open(DOWN_PORT))?,
        ];
        let router = source.within(|| {
            settle(Role::Sender, self.cores);
            let mut prober = FsdProber::open(self.address, self.hop)?;
            probe(Some(&mut prober), &mut taps, asking, told).map_err(LabError::system("probe"))?;
            Ok(prober.router())
        })?;
        let [near, far, up, down] = taps.map(FsdTap::finish);
        Ok(FsdHeard { router, ends: cross(&near, &far, self.hop), inside: cross(&up, &down, 1) })
    }

    /// The destination's address, inside the lab.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }
}

impl FsdHeard {
    /// What the router took to make its messages, less what it took to forward the direct probes: medians, in
    /// nanoseconds.
    #[must_use]
    pub fn truth(&self) -> Option<f64> {
        let of = |apart: fn(&Pair) -> f64| median(&self.inside.pairs.iter().map(apart).collect::<Vec<_>>());
        let generating = of(|pair| pair.limited.apart().as_f64())?;
        Some(generating - of(|pair| pair.direct.apart().as_f64())?)
    }
}
