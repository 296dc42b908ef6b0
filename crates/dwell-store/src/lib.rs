//! Records: what was asked, what was seen, what was found, under which circumstances.
