//! Where a packet's time goes: the command.

mod captures;
mod cli;
mod columns;
mod counted;
mod failure;
mod figure;
mod hops;
mod hops_alone;
mod identity;
mod interrupted;
mod networks;
mod output;
mod picture;
mod prometheus;
mod run;
mod screen;
mod secret;
mod spare;
mod table;
mod table_file;
mod target;
mod terminal;
mod verb;
mod warehouse;
mod waterfall;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::exit_code(cli::Cli::given().and_then(cli::Cli::run))
}
