//! The methods on a world small enough to know everything about: do they recover what it was made of?

mod end_link;
mod foreign;
mod salehin2015;
mod salehin2017;

mod world;
