//! Builds the lab of a scenario file and prints what it carries: `cargo run --example check -- FILE`.

use dwell_lab::{Lab, LabOptions, enter_user_namespace};
use dwell_sim::Scenario;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    enter_user_namespace()?;
    for file in std::env::args().skip(1) {
        let scenario = Scenario::load(Path::new(&file))?;
        let lab = Lab::up(&scenario, LabOptions::default())?;
        println!("{}", lab.check()?);
    }
    Ok(())
}
