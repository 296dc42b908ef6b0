//! One-way delay between hosts whose clocks do not agree.
