//! What runs for long: the way from probes to a warehouse.
//!
//! A probe hands what it saw to a [`Shipper`], which never makes it wait. The shipper writes batches to a spool on
//! disk, and from there sends them to a [`Warehouse`] until that says that it has them. Every record that was handed
//! over comes to count once, or is counted as given up, with the reason, whichever of the two, or of what lies between
//! them, fails, and when.

mod shipper;
pub mod upload;
mod warehouse;

pub use shipper::{Report, ShipError, Shipper, ShipperConfig, ShipperError, ShipperEvent};
pub use upload::{PORT, WarehouseAddress};
pub use warehouse::{Warehouse, WarehouseConfig, WarehouseEvent};
