//! The kernel's names of why it drops a packet, whose numbers differ from kernel to kernel.

use libbpf_rs::btf::{Btf, types};
use std::collections::HashMap;

/// Names by number.
pub(super) struct Reasons(HashMap<u32, String>);

impl Reasons {
    /// As this kernel's BTF tells.
    pub(super) fn of(btf: &Btf<'_>) -> Self {
        let prefix = "SKB_DROP_REASON_";
        let names = btf.type_by_name::<types::Enum<'_>>("skb_drop_reason").map(|list| {
            list.iter()
                .filter_map(|variant| {
                    let name = variant.name?.to_str()?;
                    Some((variant.value as u32, name.strip_prefix(prefix).unwrap_or(name).to_owned()))
                })
                .collect()
        });
        Self(names.unwrap_or_default())
    }

    /// The name of a number.
    pub(super) fn name(&self, number: u32) -> String {
        self.0.get(&number).cloned().unwrap_or_else(|| format!("reason {number}"))
    }
}
