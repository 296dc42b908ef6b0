//! Network interfaces as the kernel shows them to `ethtool`: driver, offloads, coalescing.

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Commands of SIOCETHTOOL (linux/ethtool.h).
const GET_DRIVER: u32 = 0x03;
const GET_COALESCING: u32 = 0x0e;
const GET_STRINGS: u32 = 0x1b;
const GET_STRING_COUNTS: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
/// The set of strings that names the features.
const FEATURE_NAMES: u32 = 4;
const NAME_LENGTH: usize = 32;

/// HWTSTAMP_TX_ON and HWTSTAMP_FILTER_ALL (linux/net_tstamp.h).
const HARDWARE_TRANSMIT_ON: u32 = 1;
const HARDWARE_RECEIVE_ALL: u32 = 1;

/// Offloads that make frames seen on an interface differ from frames on a wire: they merge packets, or leave their
/// checksums to a NIC that does not exist.
const FRAME_CHANGING: [&str; 15] = [
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-generic-segmentation",
    "tx-udp-segmentation",
    "tx-gso-list",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
    "tx-scatter-gather",
    "rx-gro",
    "rx-gro-list",
    "rx-udp-gro-forwarding",
    "rx-lro",
];

/// The parameters of `ethtool -c`, in the order of struct ethtool_coalesce.
const COALESCING: [&str; 22] = [
    "rx-usecs",
    "rx-frames",
    "rx-usecs-irq",
    "rx-frames-irq",
    "tx-usecs",
    "tx-frames",
    "tx-usecs-irq",
    "tx-frames-irq",
    "stats-block-usecs",
    "adaptive-rx",
    "adaptive-tx",
    "pkt-rate-low",
    "rx-usecs-low",
    "rx-frames-low",
    "tx-usecs-low",
    "tx-frames-low",
    "pkt-rate-high",
    "rx-usecs-high",
    "rx-frames-high",
    "tx-usecs-high",
    "tx-frames-high",
    "sample-interval",
];

/// An interface of the calling thread's network namespace.
pub struct Interface {
    fd: OwnedFd,
    name: [libc::c_char; libc::IFNAMSIZ],
}

impl Interface {
    /// The one of this name.
    ///
    /// # Errors
    /// When the name is too long to be one, or there is no such interface.
    pub fn named(name: &str) -> io::Result<Self> {
        let fd = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        let mut bytes = [0; libc::IFNAMSIZ];
        if name.len() >= bytes.len() {
            return Err(io::Error::other(format!("{name:?} is too long for an interface's name")));
        }
        for (to, from) in bytes.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        let this = Self { fd, name: bytes };
        this.flags().map_err(|error| io::Error::new(error.kind(), format!("interface {name}: {error}")))?;
        Ok(this)
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: ifreq is plain data of the kernel's interface, for which all zeros is a value.
        #[allow(unsafe_code)]
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name = self.name;
        request
    }

    fn ioctl(&self, command: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: `request` is the ifreq that all our commands take, and lives until the call returns; where it
        // points to other data (SIOCETHTOOL), the caller keeps that alive and long enough.
        #[allow(unsafe_code)]
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), command, request) };
        nix::errno::Errno::result(result)?;
        Ok(())
    }

    fn flags(&self) -> io::Result<libc::c_short> {
        let mut request = self.request();
        self.ioctl(libc::SIOCGIFFLAGS as libc::Ioctl, &mut request)?;
        // SAFETY: SIOCGIFFLAGS fills this member.
        #[allow(unsafe_code)]
        Ok(unsafe { request.ifr_ifru.ifru_flags })
    }

    /// Whether it is there still, and switched on.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.is_on() == Some(true)
    }

    /// Whether it is switched on; `None` where it is there no longer.
    #[must_use]
    pub fn is_on(&self) -> Option<bool> {
        self.flags().ok().map(|flags| flags & libc::IFF_UP as libc::c_short != 0)
    }

    /// The kernel's number of its kind (ARPHRD): 1 is Ethernet.
    ///
    /// # Errors
    /// The operating system's.
    pub fn kind(&self) -> io::Result<u16> {
        let mut request = self.request();
        self.ioctl(libc::SIOCGIFHWADDR as libc::Ioctl, &mut request)?;
        // SAFETY: SIOCGIFHWADDR fills this member.
        #[allow(unsafe_code)]
        Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
    }

    /// Switches it on.
    ///
    /// # Errors
    /// When that is not permitted.
    pub fn up(&self) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_flags = self.flags()? | libc::IFF_UP as libc::c_short;
        self.ioctl(libc::SIOCSIFFLAGS as libc::Ioctl, &mut request)
    }

    /// The largest IP packet that it sends.
    ///
    /// # Errors
    /// The operating system's.
    pub fn mtu(&self) -> io::Result<u64> {
        let mut request = self.request();
        self.ioctl(libc::SIOCGIFMTU as libc::Ioctl, &mut request)?;
        // SAFETY: SIOCGIFMTU fills this member.
        #[allow(unsafe_code)]
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        Ok(u64::from(mtu.unsigned_abs()))
    }

    /// Makes the NIC stamp all packets, if it can, and if it stamps none yet: a running PTP daemon's choice is left
    /// alone.
    ///
    /// # Errors
    /// When it cannot, or that is not permitted.
    pub fn stamp_in_hardware(&self) -> io::Result<()> {
        // struct hwtstamp_config: flags, transmit type, receive filter.
        let mut words = [0u32; 3];
        let mut request = self.request();
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        self.ioctl(libc::SIOCGHWTSTAMP as libc::Ioctl, &mut request)?;
        if words == [0; 3] {
            words = [0, HARDWARE_TRANSMIT_ON, HARDWARE_RECEIVE_ALL];
            request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
            self.ioctl(libc::SIOCSHWTSTAMP as libc::Ioctl, &mut request)?;
        }
        Ok(())
    }

    /// One command of ethtool, on words that begin with the command and are as long as it needs.
    fn ethtool(&self, words: &mut [u32]) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        self.ioctl(libc::SIOCETHTOOL as libc::Ioctl, &mut request)
    }

    /// Its driver.
    ///
    /// # Errors
    /// When it has none that tells.
    pub fn driver(&self) -> io::Result<String> {
        // struct ethtool_drvinfo: the command, then the driver's name, and 160 bytes more.
        let mut words = [0; 49];
        words[0] = GET_DRIVER;
        self.ethtool(&mut words)?;
        Ok(text(&words[1..=NAME_LENGTH / 4]))
    }

    /// Its coalescing parameters by the names of `ethtool -c`.
    ///
    /// # Errors
    /// When it has none.
    pub fn coalescing(&self) -> io::Result<BTreeMap<String, u64>> {
        let mut words = [0; 1 + COALESCING.len()];
        words[0] = GET_COALESCING;
        self.ethtool(&mut words)?;
        Ok(COALESCING
            .iter()
            .zip(&words[1..])
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect())
    }

    fn feature_names(&self) -> io::Result<Vec<String>> {
        // struct ethtool_sset_info: command, reserved, 64 bits of which sets, then a count for each.
        let mut counts = [GET_STRING_COUNTS, 0, 1 << FEATURE_NAMES, 0, 0];
        self.ethtool(&mut counts)?;
        let count = (counts[4] as usize).min(1024);
        // struct ethtool_gstrings: command, set, count, then the strings.
        let mut words = vec![0; 3 + count * NAME_LENGTH / 4];
        words[..3].copy_from_slice(&[GET_STRINGS, FEATURE_NAMES, count as u32]);
        self.ethtool(&mut words)?;
        Ok(words[3..].chunks(NAME_LENGTH / 4).map(text).collect())
    }

    /// Its offloads by the names of `ethtool -k`, and whether they are on.
    ///
    /// # Errors
    /// When the driver does not tell.
    pub fn offloads(&self) -> io::Result<BTreeMap<String, bool>> {
        let names = self.feature_names()?;
        let blocks = names.len().div_ceil(32);
        // struct ethtool_gfeatures: command, blocks, then for each 32 features: available, requested, active, never.
        let mut words = vec![0; 2 + blocks * 4];
        words[..2].copy_from_slice(&[GET_FEATURES, blocks as u32]);
        self.ethtool(&mut words)?;
        let active = |index: usize| words[2 + index / 32 * 4 + 2] >> (index % 32) & 1 == 1;
        let named = names.into_iter().enumerate().filter(|(_, name)| !name.is_empty());
        Ok(named.map(|(index, name)| (name, active(index))).collect())
    }

    /// Switches off whatever makes frames seen here differ from frames on a wire.
    ///
    /// # Errors
    /// When that is not permitted.
    pub fn offloads_off(&self) -> io::Result<()> {
        self.switch(&FRAME_CHANGING, false)
    }

    /// Switches generic receive offload, which merges TCP segments alone. A virtual Ethernet pair has the kernel poll
    /// for packets (NAPI) at the end where it is on, as a NIC does; elsewhere it hands each over as it is sent.
    ///
    /// # Errors
    /// When that is not permitted.
    pub fn receive_offload(&self, on: bool) -> io::Result<()> {
        self.switch(&["rx-gro"], on)
    }

    /// Switches those of `features` that it has.
    fn switch(&self, features: &[&str], on: bool) -> io::Result<()> {
        let names = self.feature_names()?;
        let blocks = names.len().div_ceil(32);
        // struct ethtool_sfeatures: command, blocks, then for each 32 features: which to change, and to what.
        let mut words = vec![0; 2 + blocks * 2];
        words[..2].copy_from_slice(&[SET_FEATURES, blocks as u32]);
        for (index, name) in names.iter().enumerate() {
            if features.contains(&name.as_str()) {
                words[2 + index / 32 * 2] |= 1 << (index % 32);
                words[3 + index / 32 * 2] |= u32::from(on) << (index % 32);
            }
        }
        self.ethtool(&mut words)
    }
}

/// The text at the beginning of these words.
fn text(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
    bytes.take_while(|byte| *byte != 0).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_tells_of_itself() {
        let lo = Interface::named("lo").unwrap();
        assert_eq!(lo.mtu().unwrap(), 65_536);
        let offloads = lo.offloads().unwrap();
        assert!(offloads.contains_key("tx-udp-segmentation"), "{offloads:?}");
        assert!(offloads.contains_key("rx-gro"), "{offloads:?}");
        assert!(lo.stamp_in_hardware().is_err(), "there is no hardware");
    }

    #[test]
    fn an_unknown_interface_is_named() {
        let error = Interface::named("none0").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("none0"), "{error}");
        assert!(Interface::named("a-name-that-is-too-long").is_err());
    }
}
