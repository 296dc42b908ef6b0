//! A forwarder on a thread of its own.

use crate::calibration::{Passage, lead};
use crate::error::LabError;
use crate::forwarder::{Forwarder, Watch};
use crate::namespace::{Namespace, Worker};
use crate::nic_stage::NicStage;
use crate::pace::Lead;
use crate::placement::{Cores, Role, settle};
use crate::wiring::Place;
use dwell_net::{PacketSocket, place};
use dwell_sim::LinkSpec;
use std::sync::{Arc, mpsc};

/// What it is started with. Of each pair the first is towards the source, or of the way there.
pub(crate) struct Carrying {
    /// What it takes from and sends by.
    pub(crate) ports: [PacketSocket; 2],
    /// The other ends of the cables in these ports, which see what it sends.
    pub(crate) ends: [PacketSocket; 2],
    /// From source to destination, and back.
    pub(crate) links: [Vec<LinkSpec>; 2],
    /// Of destination and source.
    pub(crate) nics: [NicStage; 2],
    pub(crate) seed: u64,
    /// Where it runs, as precise as it can be. `None`: somewhere, a send's own cost late. What precision takes is busy at
    /// real-time priority, and other labs that run at the same time would wait for it for tens of milliseconds.
    pub(crate) cores: Option<Cores>,
}

impl Carrying {
    /// Starts it in `node`, and waits until it carries.
    pub(crate) fn start(self, node: &Namespace) -> Result<(Arc<Watch>, Worker<()>), LabError> {
        let Self { mut ports, ends: [mut near, mut far], links, nics, seed, cores } = self;
        let watch = Arc::new(Watch::default());
        let shared = Arc::clone(&watch);
        let (tell, told) = mpsc::channel();
        let worker = node.spawn("forwarder", move || {
            let leads = match cores {
                Some(cores) => {
                    settle(Role::Forwarder, cores);
                    let [up, down] = &mut ports;
                    let passage = Passage { near: &near, inward: up, outward: down, far: &mut far };
                    let calibrated = || LabError::system("calibrate");
                    let forth = lead(passage, Place::DESTINATION, &nics[0]).map_err(calibrated())?;
                    let passage = Passage { near: &far, inward: down, outward: up, far: &mut near };
                    let back = match nics.iter().any(NicStage::gathers) {
                        true => lead(passage, Place::SOURCE, &nics[1]).map_err(calibrated())?,
                        // The same cable, used in the same way.
                        false => forth.clone(),
                    };
                    [forth, back]
                }
                None => {
                    place::sharpen_timers();
                    // Without it the lab is late where the machine is busy, and the truth tells.
                    let _ = place::real_time_priority(1);
                    [Lead::default(), Lead::default()]
                }
            };
            drop((far, near));
            let [forward, reverse] = &links;
            let mut forwarder = Forwarder::new(ports, [forward, reverse], nics, seed, leads, &shared)?;
            let _ = tell.send(());
            forwarder.run().map_err(LabError::system("forward frames"))
        })?;
        if told.recv().is_err() {
            return Err(worker.join().err().unwrap_or(LabError::Ended { role: "forwarder" }));
        }
        Ok((watch, worker))
    }
}
