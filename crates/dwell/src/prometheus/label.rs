//! Text as a label's value.

use prometheus_client::encoding::{EncodeLabelValue, LabelValueEncoder};
use std::fmt::{self, Write as _};

/// A label's value with its quotes, backslashes and line ends escaped, as the formats of the page ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label(String);

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        Self(text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    }
}

impl EncodeLabelValue for Label {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_value_is_escaped() {
        assert_eq!(Label::from("a\"b\\.pcap\n").0, r#"a\"b\\.pcap\n"#);
        assert_eq!(Label::from("alpha").0, "alpha");
    }
}
