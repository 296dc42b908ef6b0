//! Two ClickHouse servers of our own, on loopback.

use dwell_store::warehouse::Credentials;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Debian's server, one binary with the libraries of its package.
const SERVER: &str = "/usr/sbin/clickhouse-server";

const USER: &str = "dwell";
const PASSWORD: &str = "only-in-this-test";

/// A cluster of two shards, `two`, that ends with the test.
pub(crate) struct Cluster {
    servers: Vec<Child>,
    /// The HTTP port of each.
    pub(crate) ports: Vec<u16>,
    folder: tempfile::TempDir,
}

impl Cluster {
    /// Starts one; `None`, and a line that says so, without the package.
    pub(crate) fn start() -> Option<Self> {
        if !Path::new(SERVER).exists() {
            eprintln!("skipped: no {SERVER}; scripts/setup.sh installs it");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let ports = free_ports(4);
        let shards: String = ports[2..].iter().map(|port| shard(*port)).collect();
        let servers = (0..2)
            .map(|n| {
                let home = folder.path().join(n.to_string());
                fs::create_dir(&home).expect("a folder");
                fs::write(home.join("config.xml"), config(&home, ports[n], ports[2 + n], &shards))
                    .expect("a file");
                fs::write(home.join("users.xml"), users()).expect("a file");
                server(&home)
            })
            .collect();
        let cluster = Self { servers, ports: ports[..2].to_vec(), folder };
        cluster.ports.iter().for_each(|port| await_answer(*port));
        Some(cluster)
    }

    /// Who may ask.
    pub(crate) fn credentials() -> Credentials {
        Credentials { user: USER.to_owned(), password: PASSWORD.to_owned() }
    }

    /// A statement of the test's own, to every server.
    pub(crate) fn tell(&self, statement: &str) {
        for port in &self.ports {
            let answer = post(*port, statement).expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
    }

    /// Where its warehouse is, in a database of both servers.
    pub(crate) fn place(&self, database: &str) -> String {
        let [one, two] = self.ports[..] else { panic!("two servers") };
        format!("http://127.0.0.1:{one},127.0.0.1:{two}/{database}?cluster=two")
    }

    /// Starts one again that was ended, with what it held.
    pub(crate) fn start_again(&mut self, number: usize) {
        self.servers[number] = server(&self.folder.path().join(number.to_string()));
        await_answer(self.ports[number]);
    }

    /// Ends one of them, at once.
    pub(crate) fn kill(&mut self, server: usize) {
        self.servers[server].kill().expect("killed");
        self.servers[server].wait().expect("gone");
    }
}

fn server(home: &Path) -> Child {
    let log = fs::File::options().append(true).create(true).open(home.join("log")).expect("a file");
    // The kernel ends it when whoever started it is gone, however that went.
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", SERVER])
        .arg(format!("--config-file={}", home.join("config.xml").display()))
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("a server")
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // It may be gone already.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn free_ports(count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    held.iter().map(|listener| listener.local_addr().expect("an address").port()).collect()
}

fn post(port: u16, statement: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(
        stream,
        "POST /?user={USER}&password={PASSWORD} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{statement}",
        statement.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn await_answer(port: u16) {
    let begun = Instant::now();
    while post(port, "SELECT 1").is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "a server that does not answer");
        sleep(Duration::from_millis(50));
    }
}

fn shard(port: u16) -> String {
    format!(
        "<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host><port>{port}</port>\
         <user>{USER}</user><password>{PASSWORD}</password></replica></shard>"
    )
}

fn config(home: &Path, http: u16, tcp: u16, shards: &str) -> String {
    let home = home.display();
    format!(
        "<yandex><logger><level>warning</level><console>1</console></logger>
         <listen_host>127.0.0.1</listen_host><http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>
         <path>{home}/data/</path><tmp_path>{home}/tmp/</tmp_path><format_schema_path>{home}/schemas/</format_schema_path>
         <users_config>users.xml</users_config><default_profile>default</default_profile>
         <default_database>default</default_database><mark_cache_size>67108864</mark_cache_size><timezone>UTC</timezone>
         <remote_servers><two>{shards}</two></remote_servers></yandex>"
    )
}

fn users() -> String {
    format!(
        "<yandex><profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles>
         <users><{USER}><password>{PASSWORD}</password><networks><ip>127.0.0.1</ip></networks>
         <profile>default</profile><quota>default</quota></{USER}></users><quotas><default></default></quotas></yandex>"
    )
}
