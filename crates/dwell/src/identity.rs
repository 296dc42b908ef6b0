//! Who this installation is, and whom it knows: one folder with a key and a file of peers.

use crate::failure::bad_argument;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use dwell_net::{Identity, IdentityError, Peers};
use std::env;
use std::path::PathBuf;

/// The folder of keys.
#[derive(Args, Clone, Default)]
pub(crate) struct IdentityArgs {
    /// Folder of this host's key, made at first use, and of the file `peers`, one public key a line [default:
    /// ~/.config/dwell]
    #[arg(long, value_name = "FOLDER")]
    identity: Option<PathBuf>,
}

impl IdentityArgs {
    /// Whether somebody named a folder.
    pub(crate) const fn is_given(&self) -> bool {
        self.identity.is_some()
    }

    /// The folder. Other settings of this installation stand in it too.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || set("HOME").map(|home| home.join(".config"));
        let usual = || set("XDG_CONFIG_HOME").or_else(home).map(|folder| folder.join("dwell"));
        let nowhere = || bad_argument(anyhow!("no home folder is known here; name one with --identity"));
        self.identity.clone().or_else(usual).ok_or_else(nowhere)
    }

    /// This host's own key.
    pub(crate) fn load(&self) -> Result<Identity> {
        let loaded = Identity::load_or_create(&self.folder()?);
        match loaded {
            Err(error @ IdentityError::File { .. }) if !self.is_given() => Err(error).context(
                "this host has no key there, and none can be made; name another folder with --identity",
            ),
            loaded => Ok(loaded?),
        }
    }

    /// Where it stands whom this host knows.
    pub(crate) fn peers_file(&self) -> Result<PathBuf> {
        Ok(self.folder()?.join("peers"))
    }

    /// Whom this host knows. Without the file it knows nobody.
    pub(crate) fn peers(&self) -> Result<Peers> {
        let file = self.peers_file()?;
        if !file.exists() {
            let advice =
                "each host needs the other's key there, one a line; `dwell agent --key` prints a host's own";
            return Err(anyhow!("{}: no file of peers: {advice}", file.display()));
        }
        Peers::load(&file).with_context(|| "the file of peers cannot be used".to_owned())
    }
}
