//! Prints the schema of scenario files, which is published as `docs/schema/scenario.json`.

fn main() {
    println!("{:#}", dwell_sim::Scenario::schema());
}
