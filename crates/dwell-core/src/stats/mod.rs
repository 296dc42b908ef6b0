//! Statistics; nothing here knows networks.
