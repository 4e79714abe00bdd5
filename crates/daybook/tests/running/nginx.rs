//! nginx as configured in the manual: a real one, with the configuration blocks of the page about proxies.
//!
//! On Debian, `./check tests` downloads the package and unpacks it into `target` without installing it. If there is
//! `apt-get` but no nginx, the tests fail; on other systems they print that they are skipped.

use crate::caller::{Caller, SITE};
use daybook_testkit::authority::Authority;
use rustix::process::{Pid, Signal, getuid, kill_process};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The number of checks whether nginx listens, and the pause between them.
const LOOKS: u32 = 3_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A running nginx.
#[derive(Debug)]
pub struct Nginx {
    child: Child,
    address: SocketAddr,
    authority: Authority,
    folder: TempDir,
}

/// How nginx connects to the server.
#[derive(Debug)]
pub enum Onward<'a> {
    /// By plain HTTP, as in the first block of the page.
    Plain(SocketAddr),
    /// By TLS, as in the second block: the server's certificate must be from this authority and for this name.
    Tls(SocketAddr, &'a Authority, &'a str),
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The path of the nginx binary; `None` if it is missing and apt-get is not available.
pub fn program() -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let in_folders = |name: &str| {
        let folders = path.split(':').chain(["/usr/sbin", "/usr/bin"]);
        folders.map(|folder| Path::new(folder).join(name)).find(|file| file.is_file())
    };
    let unpacked = root().join("target/nginx/usr/sbin/nginx");
    let found = in_folders("nginx").or_else(|| unpacked.is_file().then_some(unpacked));
    if found.is_none() {
        assert!(in_folders("apt-get").is_none(), "nginx is not there: `./check tests` gets it");
        eprintln!("skipped: nginx is not installed, and there is no apt-get to get it with");
    }
    found
}

/// The nginx blocks of the manual.
fn blocks() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/operating/tls-and-proxies.md")).expect("the page is there");
    let after = page.split("```nginx\n").skip(1);
    after.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// Replaces a text that must occur exactly once.
fn replaced(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "{old} stands once in the manual's block:\n{text}");
    text.replace(old, new)
}

impl Nginx {
    /// Starts nginx in front of a server.
    pub fn before(program: &Path, onward: &Onward) -> Nginx {
        let folder = tempfile::tempdir().expect("a folder");
        // The workers run as another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        let path = |name: &str| folder.path().join(name).to_str().expect("a plain name").to_owned();
        let authority = Authority::named("authority of nginx");
        authority.sign(SITE, Path::new(&path("cert.pem")), Path::new(&path("key.pem")));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");

        let found = blocks();
        let [whole, by_tls] = found.as_slice() else { panic!("the page has two blocks for nginx: {found:?}") };
        let mut site = replaced(whole, "listen 443 ", &format!("listen {address} "));
        site = replaced(&site, "/etc/nginx/cert.pem", &path("cert.pem"));
        site = replaced(&site, "/etc/nginx/key.pem", &path("key.pem"));
        let plain = "proxy_pass http://127.0.0.1:8080;";
        site = match onward {
            Onward::Plain(server) => replaced(&site, plain, &format!("proxy_pass http://{server};")),
            Onward::Tls(server, authority, name) => {
                authority.write(Path::new(&path("daybook-ca.pem")));
                let lines = replaced(by_tls, "10.0.0.5:8443", &server.to_string());
                let lines = replaced(&lines, "daybook.internal", name);
                replaced(&site, plain, &replaced(&lines, "/etc/nginx/daybook-ca.pem", &path("daybook-ca.pem")))
            }
        };
        let user = if getuid().is_root() { "user nobody nogroup;\n" } else { "" };
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {};\n", path(&format!("{kind}.temporary"))));
        let around = format!(
            "{user}daemon off;\nworker_processes 1;\npid {};\nerror_log stderr;\nevents {{ worker_connections 512; }}\n\
             http {{\naccess_log off;\n{}{site}}}\n",
            path("nginx.pid"),
            temporary.concat(),
        );
        fs::write(path("nginx.conf"), around).expect("a file");
        drop(listener);
        let mut command = Command::new(program);
        command.args(["-e", "stderr", "-p", &path(""), "-c", &path("nginx.conf")]);
        let stderr = fs::File::create(path("said")).expect("a file");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn().expect("nginx starts");
        let mut nginx = Nginx { child, address, authority, folder };
        nginx.wait_until_it_listens();
        nginx
    }

    fn wait_until_it_listens(&mut self) {
        for _ in 0..LOOKS {
            if TcpStream::connect(self.address).is_ok() {
                return;
            }
            let ended = self.child.try_wait().expect("it can be asked");
            assert!(ended.is_none(), "nginx ended with {ended:?}: {}", self.said());
            thread::sleep(BETWEEN_LOOKS);
        }
        panic!("nginx does not listen: {}", self.said())
    }

    /// Its log.
    pub fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap_or_default()
    }

    /// A client that connects through nginx from the given address.
    pub fn caller(&self, from: Ipv4Addr) -> Caller {
        Caller::by_tls(from, self.address, &self.authority.der())
    }

    /// The user ids of its workers.
    pub fn users_of_workers(&self) -> Vec<u32> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.child.id())).unwrap_or_default();
        let user = |pid: &str| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("Uid:").map(str::to_owned))?;
            line.split_whitespace().next()?.parse().ok()
        };
        children.split_whitespace().filter_map(user).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // On SIGTERM, it ends its workers first.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
